"""An ``if let`` on a value of the CUDA backend.

``if let Device::Cuda(_) = device { .. }`` runs a step for CUDA alone. Where the pattern binds
nothing and the body names nothing of CUDA, ROCm joins the pattern. Otherwise the whole statement is
copied under the name table, since a binding has one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Applicability, Edit, Finding, Span
from portkit.port import Gating, Place
from portkit.rules import Rule
from portkit.rules.match_arm import pattern_key
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = "PK403"


def check(place: Place) -> Iterator[Finding]:
    """Find an ``if let`` statement on a value of the source vendor."""
    port = place.port
    inner = place.node.named_children[0] if place.node.named_children else None
    if place.scope.vendor or inner is None or inner.type != "if_expression":
        return
    condition = inner.child_by_field_name("condition")
    body = inner.child_by_field_name("consequence")
    if condition is None or body is None or condition.type != "let_condition":
        return
    pattern = condition.child_by_field_name("pattern")
    if pattern is None or not port.renames_code(node_text(pattern)):
        return
    if place.requires(port.vendor.source):
        return
    renamed = port.rename(node_text(pattern))
    binds = "(_)" not in node_text(pattern).replace(" ", "")
    if binds or port.renames_code(node_text(body)) or port.gating is Gating.CFG:
        copy = emit.gated(place, copy_place(place))
        status, claims = emit.ported(place, emit.equal_sibling(place, copy_place(place)))
        edits: tuple[Edit, ...] = (emit.insertion(place, copy),)
        applicability = Applicability.SAFE
    else:
        standing = set(pattern_key(renamed)) <= set(pattern_key(node_text(condition)))
        status = emit.Status.PORTED if standing else emit.Status.TODO
        claims = (Span(condition.start_byte, condition.end_byte),)
        edits = (Edit(pattern.end_byte, pattern.end_byte, f" | {renamed}"),)
        applicability = Applicability.REVIEW
    yield emit.finding(
        place,
        CODE,
        "if let on a device",
        f"the step runs for {port.vendor.variant} too: see that it is needed there"
        if applicability is Applicability.REVIEW
        else f"copy the step for {port.vendor.variant}",
        applicability=applicability,
        status=status,
        edits=edits,
        claims=claims,
    )


RULE = Rule(CODE, "if_let", frozenset({"expression_statement"}), check)
