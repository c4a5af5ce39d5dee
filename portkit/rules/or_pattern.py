"""An or-pattern in which CUDA's value stands beside others.

``Self::Cuda(_) | Self::Metal(_) => true`` says the same of several backends. ROCm joins the list:
``Self::Cuda(_) | Self::Rocm(_) | Self::Metal(_)``. With ``--gating cfg`` the variant exists only
under the feature, and a member of a pattern cannot carry an attribute, so an arm of its own is
written instead.

Not handled: or-patterns nested inside another pattern, which rustc reports where they matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import pattern_members
from portkit.finding import Applicability, Edit, Finding, Span
from portkit.port import Gating, Place
from portkit.rules import Rule
from portkit.rules.match_arm import enum_of, names_vendor, pattern_key
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = "PK302"


def check(place: Place) -> Iterator[Finding]:
    """Find an or-pattern with a member of the source vendor."""
    pattern = place.node.child_by_field_name("pattern")
    if pattern is None or place.scope.vendor:
        return
    members = pattern_members(pattern)
    named = [m for m in members if names_vendor(place, node_text(m))]
    if not named or len(named) == len(members):
        return
    wanted = {pattern_key(place.port.rename(node_text(m))) for m in named}
    standing = {
        pattern_key(node_text(m))
        for arm, _ in (*emit.peers_of(place), (place.node, ()))
        if (other := arm.child_by_field_name("pattern")) is not None
        for m in pattern_members(other)
    }
    if place.port.gating is Gating.CFG:
        renamed = " | ".join(place.port.rename(node_text(m)) for m in named)
        value = place.source.text(pattern.end_byte, place.node.end_byte)
        edits: tuple[Edit, ...] = (emit.insertion(place, emit.gated(place, renamed + value)),)
    else:
        edits = tuple(
            Edit(m.end_byte, m.end_byte, " | " + place.port.rename(node_text(m))) for m in named
        )
    yield emit.finding(
        place,
        CODE,
        f"match arm: {enum_of(place, pattern)}",
        f"{place.port.vendor.variant} joins the or-pattern",
        applicability=Applicability.SAFE,
        status=emit.Status.PORTED if wanted <= standing else emit.Status.TODO,
        edits=edits,
        claims=tuple(
            Span(m.start_byte, m.end_byte)
            for m in members
            if m in named or place.port.names_peer(node_text(m))
        ),
    )


RULE = Rule(CODE, "or_pattern", frozenset({"match_arm"}), check)
