"""The names that other files may use of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.syntax.imports import find_imported_names
from portkit.syntax.source_file import field_text

_WITH_MEMBERS: Final = frozenset({"enum_item", "trait_item"})
"""Items whose members are as public as they are (the Rust reference, "Visibility and Privacy")."""


def find_public_names(root: Node) -> Iterator[str]:
    """Yield the names of all that is public in a file, at any depth, and of its macros."""
    pending = [(root, False)]
    while pending:
        node, is_member = pending.pop()
        is_public = any(child.type == "visibility_modifier" for child in node.children)
        if node.type == "use_declaration":
            yield from find_imported_names(node) if is_public else ()
            continue
        if is_public or is_member or node.type == "macro_definition":
            yield field_text(node, "name")
        for child in node.named_children:
            if child.type == "block":
                continue
            if child.type in ("declaration_list", "enum_variant_list"):
                members = node.type in _WITH_MEMBERS and (is_public or is_member)
                pending += ((each, members) for each in child.named_children)
            else:
                pending.append((child, False))
