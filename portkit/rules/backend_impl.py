"""An implementation for one of CUDA's types, or of one of its traits.

ROCm's type needs the same methods and conversions. The whole ``impl`` is copied under the name
table: its type or its trait is CUDA's alone, so the copy cannot clash with it.

Not handled: an implementation whose head says nothing of CUDA. It is shared, and what it holds is
looked at place by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.finding import Finding, Span
from portkit.names import normal
from portkit.rules import Rule
from portkit.source import field_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.port import Place

CODE = "PK508"


def check(place: Place) -> Iterator[Finding]:
    """Find an implementation whose head names the source vendor."""
    port = place.port
    if place.scope.vendor or place.conditions:
        return
    head = _head(place.node)
    if not port.renames_code(head):
        return
    wanted = normal(port.rename(head))
    counterpart = next(
        (
            Span(n.start_byte, n.end_byte)
            for n, _ in emit.peers_of(place)
            if normal(_head(n)) == wanted
        ),
        None,
    )
    status, claims = emit.ported(place, counterpart)
    yield emit.finding(
        place,
        CODE,
        "impl",
        f"copy the implementation for {port.vendor.title}",
        symbol=place.symbol(head),
        status=status,
        edits=(emit.insertion(place, emit.gated(place, copy_place(place))),),
        claims=claims,
    )


def _head(node: Node) -> str:
    trait, type_name = field_text(node, "trait"), field_text(node, "type")
    return f"{trait} for {type_name}" if trait else type_name


RULE = Rule(CODE, "backend_impl", frozenset({"impl_item"}), check)
