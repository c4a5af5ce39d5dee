"""An arm that turns a peer away inside code that is specific to CUDA.

``as_cuda_device`` matches on every backend and answers ``Self::Metal(_)`` with "expected a cuda
device, got Metal". ROCm is one more backend to turn away, so the arm is written from the peer's:
``Self::Rocm(_) => bail!("expected a cuda device, got ROCm")``. The ROCm copy of the function turns
CUDA away in the same manner.

A ``match`` with a ``_`` arm and no peer needs nothing.

Not handled: a ``match`` that names neither a peer nor ``_``; there rustc reports the missing
variant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import pattern_members, substitute_peer
from portkit.finding import Edit, Finding, Span, Status
from portkit.port import Gating, Place
from portkit.rules import Rule
from portkit.rules.match_arm import enum_of, pattern_key
from portkit.source import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = "PK303"


def check(place: Place) -> Iterator[Finding]:
    """Find a peer's arm inside code that is specific to the source vendor."""
    port = place.port
    pattern = place.node.child_by_field_name("pattern")
    if pattern is None or place.scope.vendor != port.vendor.source:
        return
    members = pattern_members(pattern)
    peers = [m for m in members if port.names_peer(node_text(m))]
    if not peers:
        return

    def swap(text: str) -> str:
        return substitute_peer(port, text, port.vendor.name)

    wanted = pattern_key(swap(node_text(peers[0])))
    standing = (
        pattern_key(node_text(m))
        for arm, _ in (*emit.peers_of(place), (place.node, ()))
        if (other := arm.child_by_field_name("pattern")) is not None
        for m in pattern_members(other)
    )
    if len(members) > 1 and port.gating is Gating.DUMMY:
        member = swap(node_text(peers[0]))
        edit = Edit(peers[0].end_byte, peers[0].end_byte, f" | {member}")
    else:
        # What follows the value itself: a guard, if there is one, and the answer.
        value = place.source.text(pattern.named_children[0].end_byte, place.node.end_byte)
        arm_text = swap(node_text(peers[0])) + swap(value)
        edit = emit.insertion(place, emit.gated(place, arm_text))
    yield emit.finding(
        place,
        CODE,
        f"match arm: {enum_of(place, pattern)}",
        f"turn {port.vendor.title} away where {port.vendor.peers[0].capitalize()} is",
        status=Status.PORTED if wanted in standing else Status.TODO,
        edits=(edit,),
        claims=(Span(place.node.start_byte, place.node.end_byte),),
    )


def arms_in(place: Place) -> list[Span]:
    """Return the spans of the peers' arms inside an item that is specific to the source vendor."""
    found: list[Span] = []
    pending = [place.node]
    while pending:
        node = pending.pop()
        if not place.port.names_peer(node_text(node)):
            continue
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None and place.port.names_peer(node_text(pattern)):
            found.append(Span(node.start_byte, node.end_byte))
        else:
            pending += node.named_children
    return found


def without_peer_arms(place: Place, claims: tuple[Span, ...]) -> tuple[Span, ...]:
    """Leave the peers' arms inside a place that is copied to the rule that writes them."""
    return tuple(rest for claim in claims for rest in emit.subtract(claim, arms_in(place)))


RULE = Rule(CODE, "peer_arm", frozenset({"match_arm"}), check)
