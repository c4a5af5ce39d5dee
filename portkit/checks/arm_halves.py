"""The copies of two arms on one variant, of which each build has one, are one decision.

``#[cfg(feature = "cuda")] Device::Cuda(d) => ..`` and ``#[cfg(not(feature = "cuda"))]
Device::Cuda(_) => ..`` are such arms. With one copy alone a build lacks an arm (rustc: E0004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Doubt
from portkit.syntax import patterns
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.source_file import field_text
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree
    from portkit.workspace.finding import Finding

_TOGETHER: Final = (
    "Some builds have this arm, and the others have the copy of the one at line {line}, which is"
    " {state}. Decide both together"
)
_STATES: Final = {Applicability.REVIEW: "for review", Applicability.MANUAL: "for you to write"}


def doubt_arm_halves(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at the copy of an arm, if another arm's copy is not mechanical.

    Args:
        ported: the tree after the port.
    """
    undecided: dict[str, list[Finding]] = {}
    for finding in ported.findings:
        if finding.applicability in _STATES and _is_arm(finding):
            undecided.setdefault(finding.path, []).append(finding)
    for finding in ported.findings:
        is_safe = finding.applicability is Applicability.SAFE and finding.status is Status.TODO
        if not (is_safe and finding.path in undecided and _is_arm(finding)):
            continue
        own = _find_arm(ported, finding)
        for other in undecided[finding.path]:
            if own is not None and _are_halves(own, _find_arm(ported, other)):
                line, _ = ported.job.workspace.sources[other.path].position(other.span.start)
                state = _STATES[other.applicability]
                yield Doubt(finding, _TOGETHER.format(line=line, state=state))
                break


def _is_arm(finding: Finding) -> bool:
    return finding.construct.startswith("match arm") and finding.path.endswith(".rs")


def _find_arm(ported: PortedTree, finding: Finding) -> Node | None:
    """Return the arm of the tree before the port that a finding is about."""
    source = ported.job.workspace.sources[finding.path]
    root = source.tree_around([finding.span.start]).root_node
    node = root.descendant_for_byte_range(*finding.span)
    while node is not None and node.type != "match_arm":
        node = node.parent
    return node


def _are_halves(arm: Node, other: Node | None) -> bool:
    """Whether two arms of a ``match`` take the same values, each under a condition."""
    if other is None or arm.parent is None or other.parent is None:
        return False
    keys = {patterns.pattern_key(field_text(each, "pattern")) for each in (arm, other)}
    is_one = arm.parent.byte_range == other.parent.byte_range and arm.byte_range != other.byte_range
    return (
        is_one
        and len(keys) == 1
        and all(any(parse_conditions(find_attributes(a, ()))) for a in (arm, other))
    )
