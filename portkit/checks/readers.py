"""A copied variable or field is read after the port, if its original is.

portkit may leave the lines that read the original to a person. The copy alone would do nothing: an
option of a program would be accepted, and ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import Definitions, is_declared, names_of_vendor
from portkit.checks.ported import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from portkit.checks.ported import Ported, Written
    from portkit.lang.source import Source
    from portkit.tree.edits import Piece

_UNREAD: Final = (
    "Nothing would read `{name}`, since portkit leaves the lines that read `{original}` to you."
    " Write both by hand."
)


def check_readers(ported: Ported) -> Iterator[Refusal]:
    """Refuse the copy of a variable or a field that nothing reads, although its original is read.

    Args:
        ported: the tree after the port.
    """
    definitions = Definitions(ported)
    for written in ported.all_written(".rs"):
        if written.before is None or not ported.edited.get(written.source.path):
            continue
        for name, node, piece in _declarations(ported, written):
            original = definitions.originals(piece.finding).get(name)
            if original is None or name.startswith("_"):
                continue
            block = _block_around(node)
            if block is None:
                sources: Iterable[Source] = definitions.sources.values()
                read = _is_read(name, sources), _is_read(original, sources)
            else:
                read = _reads(name, block), _reads(original, block)
            if read == (False, True):
                yield Refusal((piece.finding,), _UNREAD.format(name=name, original=original))


def _declarations(ported: Ported, written: Written) -> Iterator[tuple[str, Node, Piece]]:
    """Yield the variables and fields of the written vendor's that edits put into a file."""
    wanted = re.compile(rb"\b(?:" + names_of_vendor(ported.job) + rb")\b")
    data = written.source.data
    for piece in written.pieces:
        for match in wanted.finditer(data, piece.start, piece.end):
            node = written.tree.root_node.descendant_for_byte_range(match.start(), match.end() - 1)
            if node is None or node.text != match[0] or not is_declared(node):
                continue
            if _is_field(node) or _is_variable(node):
                yield match[0].decode(), node, piece


def _is_field(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "field_declaration"


def _is_variable(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "let_declaration"


def _block_around(node: Node) -> Node | None:
    """Return the block of a variable; None for a field."""
    if _is_field(node):
        return None
    outer = node.parent
    while outer is not None and outer.type != "block":
        outer = outer.parent
    return outer


def _reads(name: str, block: Node) -> bool:
    """Whether a block names a variable where it is not declared."""
    text = block.text or b""
    for match in re.finditer(rb"\b%s\b" % re.escape(name).encode(), text):
        at = block.start_byte + match.start()
        node = block.descendant_for_byte_range(at, at + len(name) - 1)
        if node is not None and _names(node, name) and not is_declared(node):
            return True
    return False


def _names(node: Node, name: str) -> bool:
    """Whether a node names a variable or a field; a text may, where a macro formats it."""
    if node.type == "string_content":
        return f"{{{name}".encode() in (node.text or b"")
    return "identifier" in node.type and node.text == name.encode()


def _is_read(name: str, sources: Iterable[Source]) -> bool:
    """Whether a file names a field where no struct declares it."""
    word = re.compile(rb"\b%s\b" % re.escape(name).encode())
    for source in sources:
        if name.encode() not in source.data:
            continue
        places = [match.start() for match in word.finditer(source.data)]
        root = source.tree_around(places).root_node
        for at in places:
            node = root.descendant_for_byte_range(at, at + len(name) - 1)
            if node is not None and _names(node, name) and not _is_field(node):
                return True
    return False
