"""Which branch of an ``if`` ROCm takes at a place that is part of its condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import node_text
from portkit.lang.value import Value
from portkit.site.questions import called, is_question
from portkit.tree.finding import Applicability, Status

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.lang.source import Source
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


class Branch(Value, frozen=True):
    """What ROCm does at a condition.

    Attributes:
        sentence: which branch it takes, and where that stands.
        line: the first line of it, from 1.
        lines: it, or the whole where more than the device decides; empty where nothing is done.
    """

    sentence: str
    line: int
    lines: tuple[str, ...]


def branch(job: Job, finding: Finding, source: Source | None) -> Branch | None:
    """Return the branch that the vendor takes at a place; none where no ``if`` asks there.

    Args:
        job: the job.
        finding: what was found there.
        source: its file.
    """
    if source is None or not source.path.endswith(".rs"):
        return None
    start, end = finding.span.start, finding.span.end
    node = source.tree.root_node.descendant_for_byte_range(start, max(end, start + 1))
    below = node
    while node is not None:
        asked = node.child_by_field_name("condition") if node.type == "if_expression" else None
        if asked is not None and asked.start_byte <= start and end <= asked.end_byte:
            return _taken(job, finding, source, node, asked)
        if below is not node and node.type in ("block", "declaration_list", "source_file"):
            return None
        node = node.parent
    return None


def _taken(job: Job, finding: Finding, source: Source, holder: Node, asked: Node) -> Branch:
    name = job.vendor.title
    alternative = holder.child_by_field_name("alternative")
    answer = _answer(job, finding, asked)
    if answer is None:
        return _at(source, holder, f"More than the device decides what {name} does, in {{}}:")
    if answer:
        body = holder.child_by_field_name("consequence")
        return _at(source, body or holder, f"{name} takes the branch in {{}}:")
    if alternative is not None:
        return _at(source, alternative, f"{name} takes the else in {{}}:")
    return Branch(f"{name} passes over it: there is no else.", 0, ())


def _at(source: Source, node: Node, sentence: str) -> Branch:
    first, last = node.start_point.row + 1, node.end_point.row + 1
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    start = source.line_starts[first - 1]
    text = source.text(start, node.end_byte).split("\n")
    return Branch(sentence.format(where), first, tuple(line.rstrip("\r") for line in text))


def _answer(job: Job, finding: Finding, node: Node) -> bool | None:
    """Return what a condition comes to on the vendor; none where more than the device decides."""
    sides = [child for child in node.named_children if not child.is_extra]
    if node.type == "parenthesized_expression" and len(sides) == 1:
        return _answer(job, finding, sides[0])
    if node.type == "unary_expression" and node_text(node).startswith("!"):
        answer = _answer(job, finding, sides[0])
        return None if answer is None else not answer
    if node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        decisive = {"&&": False, "||": True}.get(operator.type if operator is not None else "")
        answers = [_answer(job, finding, side) for side in sides]
        if decisive is None:
            return None
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if node.type not in ("call_expression", "macro_invocation"):
        return None
    if is_question(job, node):
        return _holds(finding)
    if called(node) == f"is_{job.vendor.name}":
        return True
    return False if called(node) in {f"is_{w}" for w in job.vendor.peer_vocabulary} else None


def _holds(finding: Finding) -> bool:
    """Whether what is asked of CUDA holds for the vendor too: it is widened, or will be."""
    is_left = finding.applicability is Applicability.KEEP or finding.status is Status.NONE
    return not is_left
