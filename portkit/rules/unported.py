"""A place that belongs to a library without a counterpart: cuDNN, NCCL, cuTile, flash attention.

The profile lists such features, each with its reason. What stands under one, or is named after one,
is left alone; a copy of the code around it is made with the feature off.

Where such an item can be reached with a value of ROCm, the profile may hold a guard for one of its
functions: a statement at its beginning that says so, instead of a failure later.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import ITEMS
from portkit.finding import Applicability, Edit, Finding, Span
from portkit.names import normal
from portkit.port import item_symbol
from portkit.rules import Rule
from portkit.source import node_text
from portkit.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place
    from portkit.profile import Guard

CODE = "PK801"

_NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"})


def check(place: Place) -> Iterator[Finding]:
    """Find an item under an unported feature, or a name of one."""
    port = place.port
    feature = emit.unported_feature(place)
    if not feature and place.kind in _NAMES:
        words = place.code.lower().replace("_", "-")
        feature = next((f for f in port.unported_words if f in words), "")
    if not feature:
        return
    yield emit.finding(
        place,
        CODE,
        f"feature {feature}" if place.kind not in _NAMES else f"name of {feature}",
        port.vendor.unported[feature],
        symbol=place.symbol(place.name),
        applicability=Applicability.KEEP,
    )
    for guard in port.codebase.guards:
        if place.kind in ITEMS and fnmatchcase(place.source.path, guard.path):
            yield from _guarded(place, guard)


def _guarded(place: Place, guard: Guard) -> Iterator[Finding]:
    """Find the function of a guard inside a place, and say what its guard is."""
    pending = [(place.node, place.scope.symbol)]
    while pending:
        node, outer = pending.pop()
        symbol = "::".join(s for s in (outer, item_symbol(node)) if s)
        body = node.child_by_field_name("body")
        if body is None or not guard.symbol.startswith(symbol):
            continue
        if symbol != guard.symbol or node.type != "function_item":
            pending += [(c, symbol) for c in body.named_children]
            continue
        indent = place.source.indent(node.start_byte) + "    "
        text = render(guard.template).strip().replace("\n", f"\n{indent}")
        standing = normal(text) in normal(node_text(body))
        yield emit.finding(
            place,
            CODE,
            "cfg block",
            guard.reason,
            symbol=symbol,
            applicability=Applicability.REVIEW,
            status=emit.Status.PORTED if standing else emit.Status.TODO,
            edits=(Edit(body.start_byte + 1, body.start_byte + 1, f"\n{indent}{text}"),),
            claims=(),
            span=Span(node.start_byte, node.end_byte),
        )


RULE = Rule(CODE, "unported", frozenset({"*"}), check)
