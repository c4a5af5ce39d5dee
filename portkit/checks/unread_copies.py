"""A copied variable or field is read after the port, if its original is.

portkit may leave the lines that read the original to a person. The copy alone would do nothing: an
option of a program would be accepted, and ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import find_vendor_names, is_declared, is_name
from portkit.checks.ported_tree import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree
    from portkit.syntax.source_file import SourceFile

_UNREAD: Final = (
    "Nothing would read `{name}`, since portkit leaves the lines that read `{original}` to you."
    " Write both by hand."
)


def check_readers(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse the copy of a variable or a field that nothing reads, although its original is read.

    Args:
        ported: the tree after the port.
    """
    definitions = ported.definitions
    for written in ported.find_edited_files(".rs"):
        for match, node, piece in find_vendor_names(ported, written):
            name = match[0].decode()
            original = definitions.originals(piece.finding).get(name)
            is_own = node.text == match[0] and not name.startswith("_")
            if original is None or not is_own or not is_declared(node):
                continue
            if _is_field(node):
                sources = tuple(definitions.sources.values())
                read = [
                    any(_is_read(each, s, _is_field) for s in sources) for each in (name, original)
                ]
            elif (block := _find_block(node)) is not None:
                span = block.start_byte, block.end_byte
                read = [
                    _is_read(each, written.source, is_declared, *span) for each in (name, original)
                ]
            else:
                continue
            if read == [False, True]:
                yield Refusal((piece.finding,), _UNREAD.format(name=name, original=original))


def _is_field(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "field_declaration"


def _find_block(node: Node) -> Node | None:
    """Return the block that a ``let`` declares a variable in; None for other declarations."""
    if node.parent is None or node.parent.type != "let_declaration":
        return None
    outer: Node | None = node.parent
    while outer is not None and outer.type != "block":
        outer = outer.parent
    return outer


def _is_read(
    name: str,
    source: SourceFile,
    declares: Callable[[Node], bool],
    start: int = 0,
    end: int | None = None,
) -> bool:
    """Whether a part of a file names a variable or a field where it is not declared."""
    if name.encode() not in source.data:
        return False
    word = re.compile(rb"\b%s\b" % re.escape(name).encode())
    found = [*word.finditer(source.data, start, source.size if end is None else end)]
    root = source.tree_around([match.start() for match in found]).root_node
    nodes = (root.descendant_for_byte_range(m.start(), m.end() - 1) for m in found)
    return any(
        node is not None and is_name(node, match) and not declares(node)
        for node, match in zip(nodes, found, strict=True)
    )
