"""The arms of a ``match`` as patterns over constructors, with the names of enums resolved.

Kinds of node: tree-sitter-rust; grammar: the Rust reference, chapter "Patterns".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import field

from portkit.checks.enums import PRELUDE, Enum, Enums
from portkit.checks.scopes import Scopes, find_self_type
from portkit.syntax.exhaustiveness import (
    Constructor,
    Families,
    OrPattern,
    Pattern,
    UnsupportedPatternError,
)
from portkit.syntax.source_file import COMMENTS, field_text, node_text
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_LITERALS: Final = frozenset(
    {
        "char_literal",
        "const_block",
        "float_literal",
        "integer_literal",
        "negative_literal",
        "range_pattern",
        "raw_string_literal",
        "string_literal",
    }
)
_SPACE: Final = re.compile(r"\s+")


class PatternReader(Value, frozen=True):
    """Reads the patterns of one ``match``.

    Attributes:
        path: the file.
        enums: the enums of the tree.
        scopes: the scopes of the file.
        families: the closed families that were met, and the number of fields of each constructor.
        met: the enums that were met, by their families.
        prefixes: how a path to each family's constructors is written in the arms.
        aliases: the name that stands for a variant of another name, and that variant's path.
        longest: how many elements the longest slice pattern names.
        is_open: whether a slice pattern takes more elements than it names.
    """

    path: str
    enums: Enums
    scopes: Scopes
    longest: int = 0
    is_open: bool = False
    families: Families = field(default_factory=dict)
    met: dict[str, Enum] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def read(self, pattern: Node) -> Pattern:
        """Return a pattern; what an enum is named in it is known then.

        Raises:
            UnsupportedPatternError: a part of it is not understood.
        """
        inner = _members(pattern)
        match pattern.type:
            case "match_pattern" | "reference_pattern" | "captured_pattern":
                return self.read(inner[0] if pattern.type == "match_pattern" else inner[-1])
            case "or_pattern":
                return OrPattern(tuple(map(self.read, inner)))
            case "_" | "remaining_field_pattern" | "mut_pattern" | "ref_pattern":
                return None
            case "tuple_pattern":
                return self._read_tuple(pattern, inner)
            case "slice_pattern":
                return self._read_slice(inner)
            case "boolean_literal":
                self.families["bool"] = {"false": 0, "true": 0}
                return Constructor("bool", node_text(pattern))
            case "identifier" | "scoped_identifier":
                return self._name(pattern)
            case "tuple_struct_pattern":
                return self._read_variant(inner[0], inner[1:])
            case "struct_pattern":
                return self._read_struct(inner[0], inner[1:])
        if pattern.type == "range_pattern" and not {n.type for n in inner} <= _LITERALS:
            raise UnsupportedPatternError("a range with a constant")
        if pattern.type in _LITERALS:
            return Constructor("literal", _SPACE.sub(" ", node_text(pattern)))
        raise UnsupportedPatternError(pattern.type)

    def _read_tuple(self, pattern: Node, inner: Sequence[Node]) -> Pattern:
        if len(inner) == 1 and "," not in {child.type for child in pattern.children}:
            return self.read(inner[0])
        if any(node.type == "remaining_field_pattern" for node in inner):
            raise UnsupportedPatternError("a tuple with ..")
        family = f"tuple {len(inner)}"
        self.families[family] = {"": len(inner)}
        return Constructor(family, "", tuple(map(self.read, inner)))

    def _read_slice(self, inner: Sequence[Node]) -> Pattern:
        """Return a slice as a list of each length that matters; the last stands for the longer."""
        lengths = range(self.longest + 2) if self.is_open else range(self.longest, self.longest + 1)
        self.families["slice"] = {str(each): each for each in lengths}
        args = [*map(self.read, inner)]
        at = next((i for i, node in enumerate(inner) if _is_rest(node)), None)
        if at is None:
            return Constructor("slice", str(len(args)), tuple(args))
        before, behind = args[:at], args[at + 1 :]
        size = len(before) + len(behind)
        return OrPattern(
            tuple(
                Constructor("slice", str(n), (*before, *(None,) * (n - size), *behind))
                for n in lengths
                if n >= size
            )
        )

    def _name(self, node: Node) -> Pattern:
        text = node_text(node)
        if "::" not in text and not text[:1].isupper():
            return None
        return self._read_variant(node, ())

    def _read_struct(self, head: Node, fields: Sequence[Node]) -> Pattern:
        enum, name = self._resolve(head)
        args: dict[str, Pattern] = {}
        for each in fields:
            if each.type == "field_pattern":
                value = each.child_by_field_name("pattern")
                key = field_text(each, "name") or node_text(each)
                args[key] = self.read(value) if value is not None else None
        known = enum.variants[name].fields
        if not args.keys() <= {*known}:
            args = {key: value for key, value in args.items() if value is not None}
            if not args.keys() <= {*known}:
                raise UnsupportedPatternError("a field that the enum does not have")
        return Constructor(enum.key, name, tuple(args.get(each) for each in known))

    def _read_variant(self, head: Node, inner: Sequence[Node]) -> Pattern:
        enum, name = self._resolve(head)
        size = len(enum.variants[name].fields)
        rest = [i for i, node in enumerate(inner) if node.type == "remaining_field_pattern"]
        args = [*map(self.read, inner)]
        if rest:
            at = rest[0]
            args[at : at + 1] = [None] * (size - len(args) + 1)
        if len(args) != size:
            raise UnsupportedPatternError("another number of fields than the enum has")
        return Constructor(enum.key, name, tuple(args))

    def _resolve(self, head: Node) -> tuple[Enum, str]:
        """Return the enum and the variant that a path names.

        Raises:
            UnsupportedPatternError: there is none in the tree, or it is not certain which.
        """
        written, _, name = _SPACE.sub("", node_text(head)).rpartition("::")
        variant, prefix = name, written
        if not written:
            path = self.scopes.resolve_name(head, name)
            prefix, _, variant = path.rpartition("::")
        owner = find_self_type(head) if prefix == "Self" else prefix
        enum = self._find_enum(head, owner, variant) if owner else self._by_glob(head, variant)
        if not written and not owner:
            prefix = self._find_glob(head, variant) if enum.path else ""
        self.met[enum.key] = enum
        self.families[enum.key] = {n: len(v.fields) for n, v in enum.variants.items()}
        if written or enum.key not in self.prefixes:
            self.prefixes[enum.key] = prefix
        if not written and variant != name:
            self.aliases[name] = f"{prefix}::{variant}"
        return enum, variant

    def _find_enum(self, at: Node, owner: str, variant: str) -> Enum:
        first, _, rest = owner.partition("::")
        real = self.scopes.resolve_name(at, first)
        name = (f"{real}::{rest}" if rest else real).rpartition("::")[2]
        for each in dict.fromkeys((name, owner.rpartition("::")[2])):
            found = self.enums.find_enum(each, self.path, (variant,))
            if found is not None:
                return found
        raise UnsupportedPatternError(f"{owner}::{variant} is not known")

    def _by_glob(self, at: Node, variant: str) -> Enum:
        for glob in self.scopes.find_globs(at):
            try:
                return self._find_enum(at, glob, variant)
            except UnsupportedPatternError:
                continue
        if variant in PRELUDE:
            return PRELUDE[variant]
        raise UnsupportedPatternError(f"{variant} is not known")

    def _find_glob(self, at: Node, variant: str) -> str:
        for glob in self.scopes.find_globs(at):
            try:
                self._find_enum(at, glob, variant)
            except UnsupportedPatternError:
                continue
            return glob
        return ""


def measure_slices(patterns: Sequence[Node]) -> tuple[int, bool]:
    """Return how many elements the longest slice pattern names, and if one takes more."""
    longest, is_open = 0, False
    pending = [*patterns]
    while pending:
        node = pending.pop()
        pending += node.named_children
        if node.type == "slice_pattern":
            inner = _members(node)
            rests = sum(map(_is_rest, inner))
            longest, is_open = max(longest, len(inner) - rests), is_open or rests > 0
    return longest, is_open


def _is_rest(node: Node) -> bool:
    inner = _members(node)[-1] if node.type == "captured_pattern" else node
    return inner.type == "remaining_field_pattern"


def _members(pattern: Node) -> list[Node]:
    """Return what a pattern is made of; the grammar gives ``_`` no name."""
    return [
        c
        for c in pattern.children
        if c.type == "_"
        or (c.is_named and c.type not in COMMENTS and c.type != "mutable_specifier")
    ]
