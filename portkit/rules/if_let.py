"""An ``if let`` on a value of the CUDA backend.

``if let Device::Cuda(_) = device { .. }`` runs a step for CUDA alone. Where the pattern binds
nothing and the body names nothing of CUDA, ROCm joins the pattern, for a person to review.
Otherwise ROCm gets a step of its own, since a binding has one type: a copy of the statement after
it, or, where an ``else`` follows, one more branch of the chain.

With ``--gating cfg`` a pattern and a branch of a chain cannot stand under the feature; the
statement is copied under it, and a chain with an ``else`` is left to a person. Not handled: ``while
let``, ``let .. else`` and chains of ``let`` conditions; they are listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place, copy_range
from portkit.finding import Applicability, Edit, Finding, Span, Status
from portkit.names import normal
from portkit.port import Gating, Place
from portkit.rules import Rule
from portkit.rules.device_branch import chain_of
from portkit.rules.match_arm import pattern_key
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

CODE = "PK403"


def check(place: Place) -> Iterator[Finding]:
    """Find an ``if let`` on a value of the source vendor."""
    port = place.port
    condition = place.node.child_by_field_name("condition")
    body = place.node.child_by_field_name("consequence")
    if place.scope.vendor or condition is None or body is None:
        return
    pattern = condition.child_by_field_name("pattern")
    if pattern is None or not port.renames_code(node_text(pattern)):
        return
    renamed = port.rename(node_text(pattern))
    wanted = pattern_key(renamed)
    has_else = place.node.child_by_field_name("alternative") is not None
    binds = "(_)" not in node_text(pattern).replace(" ", "")
    applicability, message = Applicability.SAFE, f"a step of its own for {port.vendor.title}"
    branch = Span(condition.start_byte, body.end_byte)
    if not binds and not port.renames_code(node_text(body)) and port.gating is Gating.DUMMY:
        standing = set(wanted) <= set(pattern_key(node_text(condition)))
        applicability = Applicability.REVIEW
        message = f"the step runs for {port.vendor.title} too: see that it is needed there"
        branch = Span(condition.start_byte, condition.end_byte)
        edit = Edit(pattern.end_byte, pattern.end_byte, f" | {renamed}")
    elif has_else:
        standing = any(_asks(c, wanted) for c in chain_of(place.node))
        if port.gating is Gating.CFG and not standing:
            applicability = Applicability.MANUAL
            message = "a branch of a chain cannot stand under a feature: make it a match, by hand"
        copy = copy_range(
            port, place.source, branch.start, branch.end, place.node, place.scope.symbol
        )
        edit = Edit(body.end_byte, body.end_byte, f" else if {copy}")
    else:
        copy = copy_place(place)
        standing = _stands_beside(place, copy, wanted)
        edit = emit.insertion(place, emit.gated(place, copy))
    yield emit.finding(
        place,
        CODE,
        "if let on a device",
        message,
        applicability=applicability,
        status=Status.PORTED if standing else Status.TODO,
        edits=(edit,),
        claims=(branch,),
    )


def _asks(node: Node, wanted: tuple[str, ...]) -> bool:
    """Whether an ``if`` matches on what ``wanted`` says."""
    condition = node.child_by_field_name("condition")
    pattern = condition.child_by_field_name("pattern") if condition is not None else None
    return pattern is not None and pattern_key(node_text(pattern)) == wanted


def _stands_beside(place: Place, copy: str, wanted: tuple[str, ...]) -> bool:
    """Whether the step stands in the same block: the copy itself, or one that a person wrote."""
    statement = place.node.parent
    block = statement.parent if statement is not None else None
    if statement is None or statement.type != "expression_statement" or block is None:
        return False
    steps = [c.named_children[0] for c in block.named_children if c.type == statement.type]
    texts = {s.start_byte: normal(node_text(s)) for s in steps}
    twins = [at for at, text in texts.items() if text == normal(place.code)]
    matches = [Span(at, at) for at, text in texts.items() if text == normal(copy)]
    if emit.one_of(place.node.start_byte, twins, matches) is not None:
        return True
    copies = {normal(place.port.rename(node_text(s))) for s in steps}
    return any(_asks(s, wanted) and texts[s.start_byte] not in copies for s in steps)


RULE = Rule(CODE, "if_let", frozenset({"if_expression"}), check)
