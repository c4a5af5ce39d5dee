"""A place that belongs to a library without a counterpart: cuDNN, NCCL, cuTile, flash attention.

The profile lists such features, each with its reason. What stands under one, or is named after one,
is left alone; a copy of the code around it is made with the feature off.

Where such an item can be reached with a value of ROCm, the profile may hold a guard (PK106).

Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.finding import Applicability, Finding, Span
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Place

CODE = "PK801"

_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"}
)


def check(place: Place) -> Iterator[Finding]:
    """Find an item under an unported feature, or a name of one."""
    port = place.port
    feature = emit.unported_feature(place)
    if not feature and place.kind in _NAMES:
        words = place.code.lower().replace("_", "-")
        feature = next((f for f in port.unported_words if f in words), "")
    if not feature:
        yield from _condition(place)
        return
    yield emit.finding(
        place,
        CODE,
        f"feature {feature}" if place.kind not in _NAMES else f"name of {feature}",
        port.vendor.unported[feature],
        symbol=place.symbol(place.name),
        applicability=Applicability.KEEP,
    )


def _condition(place: Place) -> Iterator[Finding]:
    """Find a condition that names an unported feature without requiring it."""
    port = place.port
    for attribute, cfg in place.conditions:
        named = sorted(cfg.features() & set(port.vendor.unported))
        if named and port.vendor.source not in cfg.features():
            yield emit.finding(
                place,
                CODE,
                f"condition on {named[0]}",
                port.vendor.unported[named[0]],
                symbol=place.symbol(place.name),
                applicability=Applicability.KEEP,
                claims=(Span(attribute.start_byte, attribute.end_byte),),
            )


RULE = Rule(CODE, "unported", frozenset({"*"}), check)
