"""A branch that does something of CUDA's own.

``if cuda_is_available() { Device::new_cuda(0) } else if metal_is_available() { .. }`` has one
branch per backend. The chain gains a branch for ROCm, a copy of CUDA's condition and body, right
after it.

A branch whose body names nothing of CUDA is a condition to widen instead (PK401).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_range
from portkit.finding import Edit, Finding, Span, Status
from portkit.names import normal
from portkit.rules import Rule
from portkit.rules.device_check import branches, is_check
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place

CODE = "PK402"


def check(place: Place) -> Iterator[Finding]:
    """Find a branch of an ``if`` that is specific to the source vendor."""
    condition = place.node.child_by_field_name("condition")
    body = place.node.child_by_field_name("consequence")
    if place.scope.vendor or condition is None or body is None:
        return
    if not _asks(place, condition) or not branches(place, place.node):
        return
    branch = Span(condition.start_byte, body.end_byte)
    copy = copy_range(
        place.port, place.source, branch.start, branch.end, place.node, place.scope.symbol
    )
    wanted = normal(place.port.rename(node_text(condition)))
    standing = _chain(place.node)
    counterpart = next(
        (s for s in standing if normal(place.source.text(s.start, s.end)) == wanted), None
    )
    claims = [branch]
    if counterpart is not None:
        claims.append(counterpart)
    yield emit.finding(
        place,
        CODE,
        "if chain over devices",
        f"the chain gains a branch for {place.port.vendor.title}",
        status=Status.TODO if counterpart is None else Status.PORTED,
        edits=(Edit(body.end_byte, body.end_byte, f" else if {copy}"),),
        claims=tuple(claims),
        span=Span(place.node.start_byte, body.end_byte),
    )


def _asks(place: Place, condition: Node) -> bool:
    pending = [condition]
    while pending:
        node = pending.pop()
        if node.type in ("call_expression", "macro_invocation") and is_check(place, node):
            return True
        pending += node.named_children
    return False


def _chain(node: Node) -> list[Span]:
    """Return the spans of the conditions that follow in an ``else if`` chain."""
    found: list[Span] = []
    current: Node | None = node
    while current is not None:
        alternative = current.child_by_field_name("alternative")
        current = None
        for child in alternative.named_children if alternative is not None else ():
            condition = child.child_by_field_name("condition")
            if child.type == "if_expression" and condition is not None:
                found.append(Span(condition.start_byte, condition.end_byte))
                current = child
    return found


RULE = Rule(CODE, "device_branch", frozenset({"if_expression"}), check)
