"""A line that a build with ROCm gains reads no field that exists for CUDA alone.

A field under ``#[cfg(feature = "cuda")]`` may be named after no vendor, and its type may be left to
a person. A copy of what reads it, or a widened condition there, would not compile.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import field

from portkit.checks.definitions import Definitions, do_conditions_hold
from portkit.checks.ported_tree import Refusal
from portkit.syntax.cfg import Cfg, find_conditions_around
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile

_GATED: Final = (
    "This line would read the field `{name}`, which does not exist in each build that has the line."
    " Such a build would not compile. Write the field and this line by hand."
)
_FIELD: Final = re.compile(
    rb"#\[\s*cfg\s*\([^\]]*\)\s*\]\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:r#)?(\w+)\s*:(?!:)"
)
_READ: Final = re.compile(rb"\.\s*(\w+)\b(?!\s*\()")


class _Fields(Value, frozen=True, dict=True):
    """The fields of a tree that exist under conditions alone.

    Attributes:
        definitions: the tree after the port.
        known: the conditions of what was asked for.
    """

    definitions: Definitions
    known: dict[bytes, tuple[tuple[Cfg, ...], ...]] = field(default_factory=dict)

    def gates(self, name: bytes) -> tuple[tuple[Cfg, ...], ...]:
        """Return the conditions of each field of a name; none if one exists in every build."""
        if name not in self._candidates:
            return ()
        if name not in self.known:
            found = tuple(self._conditions(name))
            is_gated = all(found) and not self.definitions.is_added(name.decode())
            self.known[name] = found if is_gated else ()
        return self.known[name]

    @cached_property
    def _candidates(self) -> frozenset[bytes]:
        """The names of fields that have a condition somewhere."""
        sources = self.definitions.sources.values()
        gated = (source.data for source in sources if b"#[cfg(" in source.data)
        return frozenset(match[1] for data in gated for match in _FIELD.finditer(data))

    def _conditions(self, name: bytes) -> Iterator[tuple[Cfg, ...]]:
        declared = re.compile(rb"\b%s\s*:(?!:)" % name)
        for path, source in self.definitions.sources.items():
            if name not in source.data:
                continue
            places = [match.start() for match in declared.finditer(source.data)]
            root = source.tree_around(places).root_node if places else None
            for at in places:
                node = root.descendant_for_byte_range(at, at) if root is not None else None
                if root is not None and node is not None and _is_declared(node, name):
                    yield (
                        *find_conditions_around(root, at),
                        *self.definitions.file_conditions(path),
                    )


def check_gated_fields(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a line in a build that lacks a field which the line reads.

    Args:
        ported: the tree after the port.
    """
    definitions = Definitions(ported)
    fields = _Fields(definitions)
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            start, end = _find_gained(written, piece.start, piece.end)
            for match in _READ.finditer(written.source.data, start, end):
                gates = fields.gates(match[1])
                if gates and _is_missing(definitions, written, match.start(1), gates):
                    reason = _GATED.format(name=match[1].decode())
                    yield Refusal((piece.finding,), reason)
                    break


def _find_gained(written: WrittenFile, start: int, end: int) -> tuple[int, int]:
    """Return the bytes that an edit adds to a build: its own, or those under its condition."""
    node: Node | None = written.tree.root_node.descendant_for_byte_range(start, max(start, end - 1))
    while node is not None and node.type != "attribute_item":
        node = node.parent
    gated = node.next_named_sibling if node is not None else None
    while gated is not None and gated.type in ("attribute_item", "line_comment", "block_comment"):
        gated = gated.next_named_sibling
    return (start, end) if gated is None else (gated.start_byte, gated.end_byte)


def _is_missing(
    definitions: Definitions, written: WrittenFile, at: int, gates: tuple[tuple[Cfg, ...], ...]
) -> bool:
    """Whether a build with a place lacks a field that is read there, and the port changes that."""
    root, path = written.tree.root_node, written.source.path
    node = root.descendant_for_byte_range(at, at)
    if node is None or node.parent is None or node.parent.type != "field_expression":
        return False
    here = (*find_conditions_around(root, at), *definitions.file_conditions(path))
    feature = definitions.ported.job.feature
    return any(
        feature in on
        and do_conditions_hold(here, on)
        and not any(do_conditions_hold(each, on) for each in gates)
        for on in definitions.find_builds(path, chain(here, *gates))
    )


def _is_declared(node: Node, name: bytes) -> bool:
    parent = node.parent
    return node.text == name and parent is not None and parent.type == "field_declaration"
