"""The items of a Rust file, at any depth.

Kinds: the Rust reference, chapter "Items", as tree-sitter-rust names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tree_sitter import Node

from portkit.syntax.imports import find_imported_names
from portkit.syntax.source_file import SourceFile, field_text, group_attributes, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences

ITEMS = frozenset(
    {
        *("const_item", "enum_item", "function_item", "function_signature_item", "impl_item"),
        *("macro_definition", "mod_item", "static_item", "struct_item", "trait_item"),
        *("type_item", "union_item", "use_declaration"),
    }
)
CALLS = frozenset({"call_expression", "try_expression", "await_expression"})
"""What a statement that calls something is; an await or a `?` may stand behind the call."""
_CONTAINERS = frozenset({"impl_item", "mod_item", "trait_item"})


class Item(Value, frozen=True):
    """An item of a file."""

    symbol: str  # Its name with those of the items around it, such as ``Device::location``.
    node: Node
    attributes: tuple[Node, ...]

    @property
    def span(self) -> Span:
        """The item with its attributes."""
        start = self.attributes[0].start_byte if self.attributes else self.node.start_byte
        return Span(start, self.node.end_byte)


def find_items(source: SourceFile, symbols: Iterable[str] | None = None) -> Iterator[Item]:
    """Yield the items of a file; those inside another come after the ones beside it.

    Args:
        symbols: patterns over symbols. The file is parsed as far as it takes to find the items that
            fit one of them, and what stands beside those is yielded as well.
    """
    words = [_rarest_word(source.data, symbol) for symbol in symbols or ("*",)]
    places = sorted({at for word in words for at in find_occurrences(source.data, word)})
    if b"" in words:
        tree = source.tree
    elif places:
        tree = source.tree_around(places)
    else:
        return
    pending: list[tuple[Node, str]] = [(tree.root_node, "")]
    while pending:
        container, outer = pending.pop()
        for node, attributes in group_attributes(container):
            if node.type not in ITEMS:
                continue
            symbol = "::".join(s for s in (outer, describe_item(node)) if s)
            yield Item(symbol, node, attributes)
            body = node.child_by_field_name("body")
            if body is not None and node.type in _CONTAINERS:
                pending.append((body, symbol))


def _rarest_word(data: bytes, symbol: str) -> bytes:
    """Return the rarest word that each item with a matching symbol holds."""
    # What `fnmatch` reads in brackets is one of several characters.
    words = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "*", symbol))
    return min((word.encode() for word in words), key=data.count, default=b"")


def describe_item(node: Node) -> str:
    """Return the name of an item in reports, such as ``trait CustomOp1`` or ``Map1 for Elu``."""
    if node.type == "impl_item":
        type_name = _strip_generics(node_text(node.child_by_field_name("type")))
        trait = node.child_by_field_name("trait")
        return (
            f"{_strip_generics(node_text(trait))} for {type_name}"
            if trait is not None
            else type_name
        )
    prefix = {"trait_item": "trait ", "enum_item": "enum ", "struct_item": "struct "}
    name = node_text(node.child_by_field_name("name"))
    return prefix.get(node.type, "") + name if name else ""


def describe_impl(implementation: Node) -> str:
    """Return the type of an ``impl``, with its trait."""
    trait, type_name = field_text(implementation, "trait"), field_text(implementation, "type")
    return f"{trait} for {type_name}" if trait else type_name


def _strip_generics(path: str) -> str:
    return re.sub(r"<.*", "", path, flags=re.DOTALL).rsplit("::", 1)[-1].strip()


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
