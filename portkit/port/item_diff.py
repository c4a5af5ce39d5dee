"""What a file that was written before lacks of what would be written now.

Items are compared by what they say: layout, comments, the order of imports and the braces that
rustfmt adds or takes are no difference. An item that is missing comes back where it belongs; one
that a person changed is theirs, and is reported.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from portkit.syntax.cfg import parse_conditions
from portkit.syntax.items import ITEMS, describe_item
from portkit.syntax.name_table import strip_comments
from portkit.syntax.source_file import SourceFile, field_text, group_attributes, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_CONTAINERS = frozenset({"impl_item", "trait_item"})
_WORD = re.compile(r"""'(?:\\.[^'\n]*|[^'\\\n])'|\w+|"(?:[^"\\]|\\.)*"|[^\s\w{},;]""")


class MissingItem(Value, frozen=True):
    """An item that the file lacks."""

    symbol: str  # the item
    edit: Edit  # puts it back


class DifferingItem(Value, frozen=True):
    """An item that says something else than what would be written."""

    symbol: str  # the item
    span: Span  # where it stands in the file


class _Item(Value, frozen=True):
    key: tuple[str, ...]
    symbol: str
    start: int
    node: Node

    @property
    def end(self) -> int:
        return self.node.end_byte


def compare_items(
    expected: str, standing: SourceFile
) -> tuple[tuple[MissingItem, ...], tuple[DifferingItem, ...]]:
    """Compare what would be written with the file that stands.

    Returns:
        What the file lacks, and what differs in it, both in the order of the file.
    """
    wanted = SourceFile(standing.path, expected.encode())
    if count_words(expected) == count_words(standing.text(0, len(standing.data))):
        return (), ()
    missing: list[MissingItem] = []
    differing: list[DifferingItem] = []
    _compare(
        wanted, wanted.tree.root_node, standing, standing.tree.root_node, "", missing, differing
    )
    return tuple(missing), tuple(differing)


def count_words(text: str) -> Counter[str]:
    """Return the words of Rust source, without layout and comments, in no order."""
    return Counter(_WORD.findall(strip_comments(text)))


def _compare(
    wanted: SourceFile,
    wanted_node: Node,
    standing: SourceFile,
    standing_node: Node,
    outer: str,
    missing: list[MissingItem],
    differing: list[DifferingItem],
) -> None:
    present = {item.key: item for item in _items(standing, standing_node)}
    after = _first_place(standing_node)
    for item in _items(wanted, wanted_node):
        symbol = "::".join(s for s in (outer, item.symbol) if s)
        found = present.get(item.key)
        text = wanted.text(item.start, item.end)
        if found is None:
            indent = wanted.indent(item.start)
            missing.append(MissingItem(symbol, Edit(after, after, f"\n\n{indent}{text}")))
            continue
        after = found.end
        if count_words(text) == count_words(standing.text(found.start, found.end)):
            continue
        body, other = (n.child_by_field_name("body") for n in (item.node, found.node))
        if item.node.type in _CONTAINERS and body is not None and other is not None:
            _compare(wanted, body, standing, other, symbol, missing, differing)
        else:
            differing.append(DifferingItem(symbol, Span(found.start, found.end)))


def _items(source: SourceFile, container: Node) -> Iterator[_Item]:
    seen: Counter[tuple[str, ...]] = Counter()
    for node, attributes in group_attributes(container):
        if node.type not in ITEMS:
            continue
        start = attributes[0].start_byte if attributes else node.start_byte
        if node.type == "use_declaration":
            name = _imported(node)
        elif node.type == "impl_item":
            name = f"{field_text(node, 'trait')} for {field_text(node, 'type')}"
        else:
            name = field_text(node, "name")
        conditions = " ".join(sorted(node_text(a) for a, _ in parse_conditions(attributes)))
        key = (node.type, name, conditions)
        seen[key] += 1
        yield _Item((*key, str(seen[key])), describe_item(node) or name, start, node)


def _imported(node: Node) -> str:
    """Return what an import is known by: the path before its list, or the whole path."""
    return field_text(node, "argument").split("{", 1)[0].strip(": ")


def _first_place(container: Node) -> int:
    """Return the offset after the opening brace, or the end of a file's inner attributes."""
    end = container.start_byte
    for child in container.children:
        if child.type in ("{", "inner_attribute_item") or (
            child.type == "line_comment" and node_text(child).startswith("//!")
        ):
            end = child.end_byte
        else:
            break
    return end
