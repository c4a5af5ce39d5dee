"""The enums of a tree, by their names: variants, fields and the conditions of each variant."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from msgspec import field

from portkit.syntax.cfg import Cfg, parse_conditions
from portkit.syntax.source_file import (
    SourceFile,
    field_text,
    find_descendants,
    group_attributes,
    node_text,
)
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tree_sitter import Node

_ENUM: Final = re.compile(rb"enum\s+(\w+)")


class Variant(Value, frozen=True):
    """A variant of an enum.

    Attributes:
        fields: the names of its fields, or their numbers.
        gates: its ``cfg`` attributes.
        conditions: the same, parsed.
        is_struct: whether its fields have names.
    """

    fields: tuple[str, ...]
    gates: tuple[str, ...] = ()
    conditions: tuple[Cfg, ...] = ()
    is_struct: bool = False


class Enum(Value, frozen=True):
    """An enum.

    Attributes:
        name: its name.
        path: its file; empty for one of the standard library.
        variants: its variants by their names, in order.
    """

    name: str
    path: str
    variants: Mapping[str, Variant]

    @property
    def key(self) -> str:
        """What tells it from every other enum."""
        return f"{self.path}:{self.name}"


_STANDARD: Final = tuple(
    Enum(name, "", {each: Variant(("0",) * size) for each, size in variants.items()})
    for name, variants in {
        "Option": {"None": 0, "Some": 1},
        "Result": {"Ok": 1, "Err": 1},
        "Ordering": {"Less": 0, "Equal": 0, "Greater": 0},
    }.items()
)
PRELUDE: Final = {variant: enum for enum in _STANDARD[:2] for variant in enum.variants}
"""The variants that every file has in scope (the Rust reference, chapter "Preludes")."""


class Enums(Value, frozen=True, dict=True):
    """The enums of a tree, read when one is asked for.

    Attributes:
        paths: the Rust files.
        read: gives a file.
    """

    paths: tuple[str, ...]
    read: Callable[[str], SourceFile | None]
    known: dict[str, tuple[Enum, ...]] = field(default_factory=dict)

    def find_enums(self, name: str) -> tuple[Enum, ...]:
        """Return the enums that have a name."""
        if name not in self.known:
            found = [each for path in self._files.get(name, ()) for each in self._in(path, name)]
            self.known[name] = tuple(found) or tuple(e for e in _STANDARD if e.name == name)
        return self.known[name]

    def find_enum(self, name: str, path: str, used: Iterable[str]) -> Enum | None:
        """Return the enum of a name that has some variants; None if that is not certain.

        Args:
            name: the name.
            path: the file that uses it; the nearest enum counts.
            used: the variants.
        """
        fitting = [e for e in self.find_enums(name) if e.variants.keys() >= {*used}]
        near = max((_count_shared_parts(e.path, path) for e in fitting), default=0)
        nearest = [e for e in fitting if _count_shared_parts(e.path, path) == near]
        return nearest[0] if len(nearest) == 1 else None

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            source = self.read(path)
            for at in find_occurrences(source.data, b"enum ") if source is not None else ():
                match = _ENUM.match(source.data, at) if source is not None else None
                if match is not None:
                    found.setdefault(match[1].decode(), []).append(path)
        return {name: [*dict.fromkeys(paths)] for name, paths in found.items()}

    def _in(self, path: str, name: str) -> list[Enum]:
        source = self.read(path)
        if source is None:
            return []
        at = [*find_occurrences(source.data, f"enum {name}".encode())]
        nodes = find_descendants(source.tree_around(at).root_node, "enum_item")
        return [
            Enum(name, path, _read_variants(node))
            for node in nodes
            if field_text(node, "name") == name
        ]


def _count_shared_parts(path: str, other: str) -> int:
    """Return how many parts two paths have in common, from the first on."""
    parts = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))


def _read_variants(node: Node) -> dict[str, Variant]:
    body = node.child_by_field_name("body")
    found: dict[str, Variant] = {}
    for child, attributes in group_attributes(body) if body is not None else ():
        if child.type != "enum_variant":
            continue
        conditions = parse_conditions(attributes)
        held = child.child_by_field_name("body")
        fields = _read_fields(held) if held is not None else ()
        found[field_text(child, "name")] = Variant(
            fields,
            tuple(node_text(attribute) for attribute, _ in conditions),
            tuple(cfg for _, cfg in conditions),
            is_struct=held is not None and held.type == "field_declaration_list",
        )
    return found


def _read_fields(held: Node) -> tuple[str, ...]:
    if held.type == "field_declaration_list":
        return tuple(
            field_text(c, "name") for c in held.named_children if c.type == "field_declaration"
        )
    types = held.children_by_field_name("type")
    return tuple(str(number) for number in range(len(types)))
