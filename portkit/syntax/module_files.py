"""The files in which Rust looks for the module of a declaration without a body.

Sources: the Rust reference, chapter "Modules", sections "Module source filenames" and "The path
attribute"; rustc, ``rustc_expand::module``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.syntax.source_file import field_text, group_attributes, node_text

_PATH: Final = re.compile(r'#!?\[\s*path\s*=\s*(?:"([^"\\]*)"|r(#*)"([^"]*)"\2)\s*\]')
_MAYBE: Final = re.compile(r"\bpath\s*=")
_OWNERS: Final = frozenset({"build", "lib", "main", "mod"})
"""The names of files whose modules are beside them."""


def find_module_files(item: Node, path: str, *, is_owner: bool | None = None) -> tuple[str, ...]:
    """Return the paths that the file of a module may have; none if no single rule tells.

    Args:
        is_owner: whether modules of the file are beside it, as those of a root are and those of a
            file that a ``path`` attribute names; None to tell it by the name of the file.
    """
    folder, file = posixpath.split(path)
    stem = file.removesuffix(".rs")
    below = "" if (stem in _OWNERS if is_owner is None else is_owner) else stem
    for outer in _find_outer(item):
        given = read_path(outer)
        if given is None:
            return ()
        folder = posixpath.join(folder, given or posixpath.join(below, field_text(outer, "name")))
        below = ""
    given, name = read_path(item), field_text(item, "name").removeprefix("r#")
    if given is None:
        return ()
    folder = folder if given else posixpath.join(folder, below)
    ends = (given,) if given else (f"{name}.rs", f"{name}/mod.rs")
    return tuple(posixpath.normpath(posixpath.join(folder, end)) for end in ends)


def read_path(item: Node) -> str | None:
    """Return the value of a module's ``path`` attribute, or an empty string.

    Returns:
        None if only some builds have the attribute, or it cannot be read.
    """
    before = item.prev_sibling
    while before is not None and before.type in ("attribute_item", "line_comment", "block_comment"):
        text = node_text(before)
        if before.type == "attribute_item" and _MAYBE.search(text):
            given = _PATH.fullmatch(text.strip())
            return None if given is None else given[1] or given[3]
        before = before.prev_sibling
    return ""


def find_declarations(node: Node) -> Iterator[tuple[Node, tuple[Node, ...], tuple[Node, ...]]]:
    """Yield the modules without a body that a node holds, those of modules in it included.

    With each come its attributes, and those of the modules around it inside the node.
    """
    pending: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    while pending:
        holder, around = pending.pop()
        for child, attributes in group_attributes(holder):
            body = child.child_by_field_name("body") if child.type == "mod_item" else None
            if body is not None:
                pending.append((body, (*around, *attributes)))
            elif child.type == "mod_item":
                yield child, attributes, around


def _find_outer(item: Node) -> list[Node]:
    """Return the modules of the same file around a module, the outermost first."""
    found, outer = [], item.parent
    while outer is not None:
        if outer.type == "mod_item":
            found.append(outer)
        outer = outer.parent
    return found[::-1]
