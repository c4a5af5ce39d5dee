"""A statement that stops what a build cannot do is not taken from a build that still cannot.

``#[cfg(not(feature = "nccl"))] assert!(shards == 1);`` guards the code that shares work among GPUs.
A widened condition takes it from a build with ROCm. If the code is for a person, so is its guard.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import Definitions, do_conditions_hold
from portkit.checks.ported_tree import Doubt, Refusal
from portkit.port.feature_conflicts import STEPS
from portkit.syntax.cfg import find_attributes, find_conditions_around, parse_conditions
from portkit.syntax.source_file import group_attributes, node_text
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.syntax.cfg import Cfg
    from portkit.workspace.edits import Piece
    from portkit.workspace.finding import Finding

_UNGUARDED: Final = (
    "A build with {features} would lose this check, and portkit leaves code of the same function"
    " to you (line {line}). Write both by hand."
)
_GUARDS: Final = (
    "It stops builds without {features}, and a build with {added} loses it. Check that what follows"
    " works there"
)
_STOPS: Final = re.compile(
    r"\b(?:(?:debug_)?assert(?:_\w+)?|bail|ensure|panic|todo|unimplemented|unreachable)!\s*[(\[{]"
    r"|\breturn\b"
)

_TEST: Final = re.compile(r"^#\[\s*(?:\w+::)*(?:test|rstest|test_case)\b")


class _Guard(Value, frozen=True):
    """A statement that may end a function, and that the port takes from some builds.

    Attributes:
        finding: the finding that narrows its condition.
        features: the features whose absence it asks for, before the port.
        added: those that the port adds to them.
        function: the bytes of its function before the port.
    """

    finding: Finding
    features: frozenset[str]
    added: frozenset[str]
    function: tuple[int, int]


def check_guards(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse to take a guard from builds whose code in the same function is a person's.

    Args:
        ported: the tree after the port.
    """
    manual = [f for f in ported.findings if f.applicability is Applicability.MANUAL]
    manual = [f for f in manual if f.status is Status.NONE]
    if not manual:
        return
    for guard in _find_guards(ported):
        source = ported.job.workspace.sources[guard.finding.path]
        for finding in manual:
            if finding.path == guard.finding.path and _is_guarded(ported, guard, finding):
                line, _ = source.position(finding.span.start)
                reason = _UNGUARDED.format(features=_list_features(guard.added), line=line)
                yield Refusal((guard.finding,), reason)
                break


def doubt_guards(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at what a guard has stopped.

    Args:
        ported: the tree after the port.
    """
    for guard in _find_guards(ported):
        features, added = _list_features(guard.features), _list_features(guard.added)
        yield Doubt(guard.finding, _GUARDS.format(features=features, added=added))


def _list_features(features: frozenset[str]) -> str:
    return " and ".join(f"`{each}`" for each in sorted(features))


def _find_guards(ported: PortedTree) -> Iterator[_Guard]:
    definitions = ported.definitions
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            if (guard := _find_guard(definitions, written, piece)) is not None:
                yield guard


def _find_guard(definitions: Definitions, written: WrittenFile, piece: Piece) -> _Guard | None:
    """Return the guard whose condition an edit writes, if it is one without another half."""
    assert written.before is not None
    root = written.tree.root_node
    last = max(piece.start, piece.end - 1)
    node: Node | None = root.descendant_for_byte_range(piece.start, last)
    while node is not None and node.type != "attribute_item":
        node = node.parent
    if node is None or node.parent is None or node.parent.type != "block":
        return None
    steps = [*group_attributes(node.parent)]
    at = next((i for i, (_, own) in enumerate(steps) if _holds(own, node)), None)
    if at is None or steps[at][0].type not in STEPS:
        return None
    if _STOPS.search(node_text(steps[at][0])) is None or _has_half(steps, at):
        return None
    start = steps[at][0].start_byte
    after = _list_conditions(root, start)
    place = written.offset_before(start)
    before_root = written.before.tree_around([place]).root_node
    before = _list_conditions(before_root, place)
    builds = definitions.find_builds(written.source.path, chain(before, after))
    if not any(
        do_conditions_hold(before, on) and not do_conditions_hold(after, on) for on in builds
    ):
        return None
    named = frozenset[str]().union(*(cfg.features() for cfg in before))
    added = frozenset[str]().union(*(cfg.features() for cfg in after)) - named
    function: Node | None = before_root.descendant_for_byte_range(place, place)
    while function is not None and function.type != "function_item":
        function = function.parent
    if function is None or _is_test(function):
        return None
    return _Guard(piece.finding, named, added, function.byte_range)


def _is_test(function: Node) -> bool:
    """Whether a function is a test, whose assertions guard nothing."""
    holder = function.parent
    attached = (
        next((own for node, own in group_attributes(holder) if node == function), ())
        if holder
        else ()
    )
    return any(_TEST.search(node_text(each)) is not None for each in attached)


def _holds(attached: tuple[Node, ...], attribute: Node) -> bool:
    return any(each.byte_range == attribute.byte_range for each in attached)


def _list_conditions(root: Node, offset: int) -> tuple[Cfg, ...]:
    return tuple(find_conditions_around(root, offset))


def _has_half(steps: list[tuple[Node, tuple[Node, ...]]], at: int) -> bool:
    """Whether what stands next to a step under a condition is under one as well."""
    beside = [steps[i] for i in (at - 1, at + 1) if 0 <= i < len(steps)]
    return any(any(parse_conditions(find_attributes(node, own))) for node, own in beside)


def _is_guarded(ported: PortedTree, guard: _Guard, finding: Finding) -> bool:
    """Whether a finding of the guard's function is about a feature that the guard asks for."""
    start, end = guard.function
    if not start <= finding.span.start < end:
        return False
    source = ported.job.workspace.sources[finding.path]
    root = source.tree_around([finding.span.start]).root_node
    outside = find_conditions_around(root, finding.span.start)
    named = frozenset[str]().union(*(cfg.features() for cfg in outside))
    text = source.slice(finding.span)
    return any(each in named or f'"{each}"' in text for each in guard.features)
