"""A line that a build with ROCm gains uses no field or function that exists for CUDA alone.

A field or a function under ``#[cfg(feature = "cuda")]`` may be named after no vendor, and portkit
may leave it to a person. A copy of what uses it, or a widened condition there, would not compile.

The type of a value is not known here, so a member is found by its name alone. A name that a build
without the definitions uses as well, before the port, is another crate's too, and proves nothing.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import field

from portkit.checks.definitions import Definitions, do_conditions_hold
from portkit.checks.known_names import KnownNames
from portkit.checks.ported_tree import Refusal
from portkit.syntax.cfg import Cfg, find_conditions_around
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile

_GATED: Final = (
    "This line would {use} `{name}`, which does not exist in each build that has the line."
    " Such a build would not compile. Write the {kind} and this line by hand."
)
_ATTRIBUTES: Final = (
    rb"#\[\s*cfg\s*\([^\]]*\)\s*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\s*\([^)]*\))?\s+)?"
)


class _Kind(Value, frozen=True):
    """A kind of member.

    Attributes:
        noun: how a message calls it.
        use: how a message calls what a line does with it.
        gated: a pattern for one under a condition of its own; the group is the name.
        declared: a pattern for one of a name; the name is ``%s``.
        used: a pattern for what may use one of a name; the name is ``%s``.
        declares: the nodes that declare one.
        uses: the nodes that use one.
    """

    noun: str
    use: str
    gated: re.Pattern[bytes]
    declared: bytes
    used: bytes
    declares: frozenset[str]
    uses: frozenset[str]


_FIELD: Final = _Kind(
    "field",
    "read the field",
    re.compile(_ATTRIBUTES + rb"(?:r#)?(\w+)\s*:(?!:)"),
    rb"\b(%s)\s*:(?!:)",
    rb"\.\s*(%s)\b(?!\s*\()",
    frozenset({"field_declaration"}),
    frozenset({"field_expression"}),
)
_METHOD: Final = _Kind(
    "function",
    "call",
    re.compile(_ATTRIBUTES + rb'(?:(?:async|const|unsafe|extern|"\w+")\s+)*fn\s+(?:r#)?(\w+)'),
    rb"\bfn\s+(%s)\b",
    rb"(?:\.|::)\s*(%s)\s*(?:::\s*<[^;{}]*>\s*)?\(",
    frozenset({"function_item", "function_signature_item"}),
    frozenset({"field_expression", "scoped_identifier"}),
)


class _Members(Value, frozen=True, dict=True):
    """The members of a kind that exist under conditions alone.

    Attributes:
        kind: the kind.
        definitions: the tree after the port.
        elsewhere: what is known to be defined outside of the tree.
        known: the conditions of what was looked up.
    """

    kind: _Kind
    definitions: Definitions
    elsewhere: KnownNames
    known: dict[bytes, tuple[tuple[Cfg, ...], ...]] = field(default_factory=dict)

    def gates(self, name: bytes) -> tuple[tuple[Cfg, ...], ...]:
        """Return the conditions of each member of a name; none if one exists in every build."""
        if name not in self._candidates:
            return ()
        if name not in self.known:
            self.known[name] = self._gather_conditions(name)
        return self.known[name]

    def _gather_conditions(self, name: bytes) -> tuple[tuple[Cfg, ...], ...]:
        found = []
        for here in self._conditions(name):
            if not here:
                return ()
            found.append(here)
        return tuple(found)

    def is_own(self, name: bytes, gates: tuple[tuple[Cfg, ...], ...]) -> bool:
        """Whether nothing else is known to have a member of a name."""
        text = name.decode()
        if self._is_shared(name, gates) or self.definitions.is_added(text):
            return False
        return self.kind is _FIELD or text not in self.elsewhere

    @cached_property
    def _candidates(self) -> frozenset[bytes]:
        """The names of members that have a condition somewhere."""
        sources = self.definitions.sources.values()
        gated = (source.data for source in sources if b"#[cfg(" in source.data)
        return frozenset(match[1] for data in gated for match in self.kind.gated.finditer(data))

    def _conditions(self, name: bytes) -> Iterator[tuple[Cfg, ...]]:
        declared = re.compile(self.kind.declared % re.escape(name))
        for path, source in self.definitions.sources.items():
            if name not in source.data:
                continue
            places = [match.start(1) for match in declared.finditer(source.data)]
            root = source.tree_around(places).root_node if places else None
            for at in places:
                node = root.descendant_for_byte_range(at, at) if root is not None else None
                if root is not None and node is not None and self._is_declared(node, name):
                    yield (
                        *find_conditions_around(root, at),
                        *self.definitions.file_conditions(path),
                    )

    def _is_declared(self, node: Node, name: bytes) -> bool:
        parent = node.parent
        return node.text == name and parent is not None and parent.type in self.kind.declares

    def _is_shared(self, name: bytes, gates: tuple[tuple[Cfg, ...], ...]) -> bool:
        """Whether a build that lacks each member of a name uses the name, before the port."""
        before = self.definitions.ported.job.workspace.sources
        used = re.compile(self.kind.used % re.escape(name))
        for path, source in before.items():
            if not path.endswith(".rs") or name not in source.data:
                continue
            places = [match.start(1) for match in used.finditer(source.data)]
            root = source.tree_around(places).root_node if places else None
            for at in places:
                if root is None or not self.is_used(root, at):
                    continue
                here = (*find_conditions_around(root, at), *self.definitions.file_conditions(path))
                builds = self.definitions.find_builds(path, chain(here, *gates))
                own = self.definitions.ported.job.feature
                if any(
                    own not in on
                    and do_conditions_hold(here, on)
                    and not any(do_conditions_hold(g, on) for g in gates)
                    for on in builds
                ):
                    return True
        return False

    def is_used(self, root: Node, at: int) -> bool:
        """Whether a member is used at an offset."""
        node = root.descendant_for_byte_range(at, at)
        return node is not None and node.parent is not None and node.parent.type in self.kind.uses


def check_gated_members(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a line in a build that lacks a field or a function which the line uses.

    Args:
        ported: the tree after the port.
    """
    definitions, elsewhere = ported.definitions, KnownNames(ported.job)
    kinds = [_Members(kind, definitions, elsewhere) for kind in (_FIELD, _METHOD)]
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            start, end = _find_gained(written, piece.start, piece.end)
            for members in kinds:
                if name := _find_missing(members, written, start, end):
                    kind = members.kind
                    reason = _GATED.format(use=kind.use, name=name, kind=kind.noun)
                    yield Refusal((piece.finding,), reason, name)
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


def _find_missing(members: _Members, written: WrittenFile, start: int, end: int) -> str:
    """Return a member that a build with some bytes lacks, or an empty string."""
    for match in re.finditer(members.kind.used % rb"\w+", written.source.data[start:end]):
        gates = members.gates(match[1])
        is_missing = gates and _is_missing(members, written, start + match.start(1), gates)
        if is_missing and members.is_own(match[1], gates):
            return match[1].decode()
    return ""


def _is_missing(
    members: _Members, written: WrittenFile, at: int, gates: tuple[tuple[Cfg, ...], ...]
) -> bool:
    """Whether a build with a place lacks a member that is used there."""
    definitions = members.definitions
    root, path = written.tree.root_node, written.source.path
    if not members.is_used(root, at):
        return False
    here = (*find_conditions_around(root, at), *definitions.file_conditions(path))
    feature = definitions.ported.job.feature
    return any(
        feature in on
        and do_conditions_hold(here, on)
        and not any(do_conditions_hold(each, on) for each in gates)
        for on in definitions.find_builds(path, chain(here, *gates))
    )
