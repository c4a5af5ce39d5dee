"""One file of the tree: its bytes, its lazily parsed syntax tree and its lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from itertools import accumulate, count
from operator import add
from typing import Final

from tree_sitter import Language, Node, Parser, Point, Range, Tree

from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import (
    SHORT,
    build_word_finder,
    caseless_word_pattern,
    find_occurrences,
)

# The Rust reference, chapter "Comments": "beginning with exactly three slashes", or `/**`.
_DOC = re.compile(r"///(?!/)|/\*\*(?![*/])")
COMMENTS = frozenset({"line_comment", "block_comment"})
"""The kinds of comment, doc comments included."""
ATTACHED = COMMENTS | {"attribute_item"}
"""Nodes that tree-sitter-rust makes siblings of the item that they belong to."""
_GRAMMARS = {
    ".py": "tree_sitter_python",
    ".pyi": "tree_sitter_python",
    ".toml": "tree_sitter_toml",
}
"""The parser of each kind of file by its ending; of all others it is Rust's."""
_COMMA = re.compile(rb"(?:\s|//[^\n]*|/\*(?s:.*?)\*/)*+,")
_COMMA_ELSE = re.compile(rb"(?:\s|#[^\n]*)*+,")
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_NAMED = frozenset({"identifier", "captured_pattern"})
"""What ``mut`` may stand before in a pattern."""
_LONG = 160  # How many bytes of a line are shown on each side of a place in it.


class SourceFile(Value, frozen=True, dict=True):
    """A file of the workspace."""

    path: str
    data: bytes

    @cached_property
    def size(self) -> int:
        """How many bytes the file has."""
        return len(self.data)

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree, by the grammar that the file's name chooses."""
        return _parse(self.path, self.data)

    def tree_around(self, places: Sequence[int], words: Iterable[str] = ()) -> Tree:
        """Return a syntax tree that has at least the items of the file that hold some places.

        The last one is returned again if it has them.
        """
        if "tree" in self.__dict__ or not self.path.endswith(".rs"):
            return self.tree
        from portkit.syntax.partial_parse import find_needed_parts

        held = build_word_finder((*words,))(self.data)
        for has, known in self._last_part:
            if not held and all(_holds(has, place) for place in places):
                return known
        found = find_needed_parts(self.data, places, [word.encode() for word in held])
        tree = _parse(self.path, self.data, found) if found else self.tree
        if not found or tree.root_node.has_error:
            return self.tree
        self._last_part[:] = [(found, tree)]
        return tree

    @cached_property
    def _last_part(self) -> list[tuple[Sequence[Span], Tree]]:
        """The last tree of some items, with the parts of the file that it has; none at first."""
        return []

    def forget(self) -> None:
        """Release the syntax trees, which are far larger than the file."""
        self.__dict__.pop("tree", None)
        self.__dict__.pop("_last_part", None)

    def offsets(self, words: Iterable[str]) -> list[int]:
        """Return the offsets of ``words``, which are in lower case, in any case, sorted.

        A short one is looked for where pieces of identifiers begin
        (`portkit.syntax.word_search.caseless_word_pattern`).
        """
        found: list[int] = []
        lowered = self.data.lower()
        for word in words:
            every = find_occurrences(lowered, word.encode())
            if len(word) <= SHORT:
                piece = re.compile(caseless_word_pattern(word).encode())
                every = (at for at in every if piece.match(self.data, at))
            found += every
        return sorted(set(found))

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the first byte of each line."""
        before = accumulate(map(len, self.data.split(b"\n")), initial=0)
        return [*map(add, before, count())][:-1]  # a line feed ends each

    @property
    def newline(self) -> str:
        r"""The line ending of the file's first line: ``\r\n``, else ``\n``."""
        first = self.data.find(b"\n")
        return "\r\n" if first > 0 and self.data[first - 1 : first] == b"\r" else "\n"

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of a byte offset, both from 1; columns count bytes."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_around(self, offset: int, start: int) -> str:
        """Return the line of a byte offset, or the part around it if the line is long."""
        end = self.data.find(b"\n", offset, offset + _LONG)
        if end < 0:
            end = min(offset + _LONG, len(self.data))
        if offset - start <= _LONG:
            return self.data[start:end].decode(errors="ignore").strip()
        return "…" + self.data[offset - _LONG : end].decode(errors="ignore").strip()

    def text(self, start: int, end: int) -> str:
        r"""Return the text of a range of bytes, with ``\n`` as line ending."""
        return self.data[start:end].decode().replace("\r\n", "\n")

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text(span.start, span.end)

    def indent(self, offset: int) -> str:
        """Return the white space that begins the line of ``offset``."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        match = re.compile(rb"[ \t]*").match(self.data, start)
        return match.group().decode() if match else ""

    def line_tail(self, offset: int) -> int:
        """Return the end of a comment that follows ``offset`` on its line, or ``offset``."""
        match = re.compile(rb"[ \t]*//(?:[^\r\n]|\r(?!\n))*").match(self.data, offset)
        return match.end() if match else offset

    def find_comma_end(self, offset: int) -> int | None:
        """Return the offset behind the comma that follows ``offset``, comments aside, or None."""
        comma = (_COMMA if self.path.endswith(".rs") else _COMMA_ELSE).match(self.data, offset)
        return comma.end() if comma else None


_HOLD_STATEMENTS: Final = frozenset({"block", "declaration_list", "match_arm", "source_file"})


def parses_as_items(text: str) -> bool:
    """Whether a text is items of Rust, as far as the parser can tell.

    It lets two things pass that Rust does not: comparisons in a row (the Rust reference,
    "Expression precedence": they require parentheses), and ``mut`` before what is no name
    ("Identifier patterns").
    """
    root = SourceFile("text.rs", text.encode()).tree.root_node
    return not root.has_error and not _has_refused_syntax(root)


def _has_refused_syntax(root: Node) -> bool:
    pending = [root]
    while pending:
        node = pending.pop()
        pending += node.named_children
        if _is_comparison(node) and any(map(_is_comparison, node.named_children)):
            return True
        if node.type == "mut_pattern" and node.named_children[-1].type not in _NAMED:
            return True
    return False


def _is_comparison(node: Node) -> bool:
    return field_text(node, "operator") in _COMPARISONS


def _parse(path: str, data: bytes, parts: Sequence[Span] = ()) -> Tree:
    parser = Parser(find_grammar(path))
    if parts:
        parser.included_ranges = _find_ranges(data, parts)
    return parser.parse(data)


def find_grammar(path: str) -> Language:
    """Return the grammar of a file, chosen by its name."""
    for ending, name in _GRAMMARS.items():
        if path.endswith(ending):
            return _find_language(name)
    return _find_language("tree_sitter_rust")


@cache  # each has some hundred names of its own
def _find_language(name: str) -> Language:
    return Language(import_module(name).language())


def _holds(parts: Sequence[Span], place: int) -> bool:
    """Whether one of some parts, which are in order, holds a place."""
    at = bisect_right(parts, place, key=_start_of)
    return at > 0 and place < parts[at - 1].end


def _start_of(part: Span) -> int:
    return part.start


def _find_ranges(data: bytes, parts: Sequence[Span]) -> list[Range]:
    ranges: list[Range] = []
    at = row = 0
    for part in parts:
        row += data.count(b"\n", at, part.start)
        start = Point(row, 0)
        row += data.count(b"\n", part.start, part.end)
        column = part.end - (data.rfind(b"\n", 0, part.end) + 1)
        first = part.start
        # The parser looks through the ranges for each token.
        if ranges and ranges[-1].end_byte == part.start:
            joined = ranges.pop()
            start, first = joined.start_point, joined.start_byte
        ranges.append(Range(start, Point(row, column), first, part.end))
        at = part.end
    return ranges


def node_text(node: Node | None) -> str:
    """Return the text of a node, or an empty string for none."""
    return node.text.decode() if node is not None and node.text is not None else ""


def contains_place(places: Sequence[int], node: Node) -> bool:
    """Whether one of some places, which are sorted, lies in a node."""
    at = bisect_left(places, node.start_byte)
    return at < len(places) and places[at] < node.end_byte


def span_of(node: Node) -> Span:
    """Return the span of a node."""
    return Span(node.start_byte, node.end_byte)


def spans_of(nodes: Iterable[Node]) -> tuple[Span, ...]:
    """Return the spans of nodes, in their order."""
    return tuple(map(span_of, nodes))


def field_text(node: Node, field: str) -> str:
    """Return the text of a named field of a node, or an empty string."""
    return node_text(node.child_by_field_name(field))


def find_descendants(root: Node, kind: str) -> Iterator[Node]:
    """Yield the nodes of a kind below a node, but for those inside another of them."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == kind:
            yield node
        else:
            waiting.extend(reversed(node.children))


def find_statement(node: Node) -> Node:
    """Return the statement, or the value of an arm, that holds an expression."""
    while node.parent is not None and node.parent.type not in _HOLD_STATEMENTS:
        node = node.parent
    return node


def group_attributes(node: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield each child with the attributes and doc comments that belong to it.

    A plain comment belongs to nothing, unless an attribute stands above it.
    """
    attached: list[Node] = []
    for child in node.children:
        if child.type in ATTACHED and (
            child.type == "attribute_item" or attached or _DOC.match(node_text(child))
        ):
            attached.append(child)
        elif not child.is_named:  # a bracket or a comma bears no attribute
            for each in attached:
                yield each, ()
            yield child, ()
            attached = []
        else:
            yield child, tuple(attached)
            attached = []
    for child in attached:
        yield child, ()
