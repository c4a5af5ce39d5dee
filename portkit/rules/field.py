"""A field of a struct that is named after CUDA or has one of its types.

What a struct keeps for CUDA, ROCm needs to keep as well: the struct gains a field of the same shape
for ROCm. Each place that builds the struct has an initializer of the same name, which is found and
copied in the same way.

Not handled: the short form ``Devices { cuda }``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Span
from portkit.rules import Rule
from portkit.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.finding import Finding
    from portkit.port import Place

CODE = "PK506"


def check(place: Place) -> Iterator[Finding]:
    """Find a field, or its initializer, that is named after the source vendor."""
    port = place.port
    field = field_text(place.node, "name") or field_text(place.node, "field")
    if place.scope.vendor or not port.names_source(field) or place.conditions:
        return
    if port.names_unported(field):
        return
    copy = copy_place(place)
    renamed = port.rename(field)
    counterpart = next(
        (
            Span(node.start_byte, node.end_byte)
            for node, _ in emit.peers_of(place)
            if renamed
            in (
                node_text(node.child_by_field_name("name")),
                node_text(node.child_by_field_name("field")),
            )
        ),
        None,
    )
    status, claims = emit.ported(place, counterpart)
    yield emit.finding(
        place,
        CODE,
        "field",
        f"the field gains {renamed} beside it",
        symbol=place.symbol(field),
        status=status,
        edits=(emit.insertion(place, emit.gated(place, copy)),),
        claims=claims,
    )


RULE = Rule(CODE, "field", frozenset({"field_declaration", "field_initializer"}), check)
