"""Find the branch of an ``if`` that ROCm takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_queries import is_cuda_query, read_callee_name
from portkit.syntax.source_file import node_text
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


class TakenBranch(Value, frozen=True):
    """The branch that ROCm takes at a condition.

    Attributes:
        sentence: which branch it takes, and where that stands.
        line: the first line of it, from 1.
        lines: it, or the whole where more than the device decides; empty where nothing is done.
    """

    sentence: str
    line: int
    lines: tuple[str, ...]


def find_taken_branch(
    job: PortJob, finding: Finding, source: SourceFile | None
) -> TakenBranch | None:
    """Return the branch that the vendor takes, or None if no ``if`` tests the finding."""
    if source is None or not source.path.endswith(".rs"):
        return None
    start, end = finding.span.start, finding.span.end
    node = source.tree.root_node.descendant_for_byte_range(start, max(end, start + 1))
    below = node
    while node is not None:
        asked = node.child_by_field_name("condition") if node.type == "if_expression" else None
        if asked is not None and asked.start_byte <= start and end <= asked.end_byte:
            return _choose_branch(job, finding, source, node, asked)
        if below is not node and node.type in ("block", "declaration_list", "source_file"):
            return None
        node = node.parent
    return None


def _choose_branch(
    job: PortJob, finding: Finding, source: SourceFile, holder: Node, asked: Node
) -> TakenBranch:
    name = job.vendor.title
    alternative = holder.child_by_field_name("alternative")
    answer = _evaluate_condition(job, finding, asked)
    if answer is None:
        if rest := _find_rest(job, finding, asked):
            body = holder.child_by_field_name("consequence")
            sentence = f"If `{rest}`, {name} takes the branch in {{}}:"
            return _find_condition(source, body or holder, sentence)
        return _find_condition(
            source, holder, f"More than the device decides what {name} does, in {{}}:"
        )
    if answer:
        body = holder.child_by_field_name("consequence")
        return _find_condition(source, body or holder, f"{name} takes the branch in {{}}:")
    if alternative is not None:
        return _find_condition(source, alternative, f"{name} takes the else in {{}}:")
    return TakenBranch(f"{name} passes over it: there is no else.", 0, ())


def _find_condition(source: SourceFile, node: Node, sentence: str) -> TakenBranch:
    first, last = node.start_point.row + 1, node.end_point.row + 1
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    start = source.line_starts[first - 1]
    text = source.text(start, node.end_byte).split("\n")
    return TakenBranch(sentence.format(where), first, tuple(line.rstrip("\r") for line in text))


def _find_rest(job: PortJob, finding: Finding, asked: Node) -> str:
    """Return the only side of a conjunction that does not depend on the device, or nothing."""
    sides = [child for child in asked.named_children if not child.is_extra]
    operator = asked.child_by_field_name("operator")
    if operator is None or operator.type != "&&":
        return ""
    open_sides = [side for side in sides if _evaluate_condition(job, finding, side) is None]
    if len(open_sides) != 1:
        return ""
    [side] = open_sides
    while side.type == "parenthesized_expression" and len(side.named_children) == 1:
        [side] = side.named_children
    text = " ".join(node_text(side).split())
    named = (job.mentions_cuda(text), job.mentions_peer(text), job.mentions_rocm(text))
    return "" if any(named) else text


def _evaluate_condition(job: PortJob, finding: Finding, node: Node) -> bool | None:
    """Return the value of a condition on the vendor, or None if it depends on more."""
    sides = [child for child in node.named_children if not child.is_extra]
    if node.type == "parenthesized_expression" and len(sides) == 1:
        return _evaluate_condition(job, finding, sides[0])
    if node.type == "unary_expression" and node_text(node).startswith("!"):
        answer = _evaluate_condition(job, finding, sides[0])
        return None if answer is None else not answer
    if node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        decisive = {"&&": False, "||": True}.get(operator.type if operator is not None else "")
        answers = [_evaluate_condition(job, finding, side) for side in sides]
        if decisive is None:
            return None
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if node.type not in ("call_expression", "macro_invocation"):
        return None
    if is_cuda_query(job, node):
        # What is asked of CUDA holds for the vendor too if it is widened, or will be.
        is_left = finding.applicability is Applicability.KEEP or finding.status is Status.NONE
        return not is_left
    if read_callee_name(node) == f"is_{job.vendor.name}":
        return True
    return (
        False if read_callee_name(node) in {f"is_{w}" for w in job.vendor.peer_vocabulary} else None
    )
