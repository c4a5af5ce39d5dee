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

from portkit.copying import counterpart as emit
from portkit.copying.analog import pattern_members, substitute_peer
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.match_arm import enum_of, pattern_key
from portkit.site.context import Gating, Site
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = "PK303"


def check(site: Site) -> Iterator[Finding]:
    """Find a peer's arm inside code that is specific to the source vendor."""
    job = site.job
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor != job.vendor.source:
        return
    members = pattern_members(pattern)
    peers = [m for m in members if job.names_peer(node_text(m))]
    if not peers:
        return

    def swap(text: str) -> str:
        return substitute_peer(job, text, job.vendor.name)

    wanted = pattern_key(swap(node_text(peers[0])))
    standing = (
        pattern_key(node_text(m))
        for arm, _ in (*emit.peers_of(site), (site.node, ()))
        if (other := arm.child_by_field_name("pattern")) is not None
        for m in pattern_members(other)
    )
    if len(members) > 1 and job.gating is Gating.DUMMY:
        member = swap(node_text(peers[0]))
        edit = Edit(peers[0].end_byte, peers[0].end_byte, f" | {member}")
    else:
        # What follows the value itself: a guard, if there is one, and the answer.
        value = site.source.text(pattern.named_children[0].end_byte, site.node.end_byte)
        arm_text = swap(node_text(peers[0])) + swap(value)
        edit = emit.insertion(site, emit.gated(site, arm_text))
    yield emit.finding(
        site,
        CODE,
        f"match arm: {enum_of(site, pattern)}",
        f"turn {job.vendor.title} away where {job.vendor.peers[0].capitalize()} is",
        status=Status.PORTED if wanted in standing else Status.TODO,
        edits=(edit,),
        claims=(Span(site.node.start_byte, site.node.end_byte),),
    )


def arms_in(site: Site) -> list[Span]:
    """Return the spans of the peers' arms inside an item that is specific to the source vendor."""
    found: list[Span] = []
    pending = [site.node]
    while pending:
        node = pending.pop()
        if not site.job.names_peer(node_text(node)):
            continue
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None and site.job.names_peer(node_text(pattern)):
            found.append(Span(node.start_byte, node.end_byte))
        else:
            pending += node.named_children
    return found


def without_peer_arms(site: Site, claims: tuple[Span, ...]) -> tuple[Span, ...]:
    """Leave the peers' arms inside a place that is copied to the rule that writes them."""
    return tuple(rest for claim in claims for rest in emit.subtract(claim, arms_in(site)))


RULE = Rule(CODE, "peer_arm", frozenset({"match_arm"}), check)
