"""An or-pattern in which CUDA's value stands beside others.

``Self::Cuda(_) | Self::Metal(_) => true`` says the same of several backends. ROCm joins the list:
``Self::Cuda(_) | Self::Rocm(_) | Self::Metal(_)``. With ``--gating cfg`` the variant exists only
under the feature, and a member of a pattern cannot carry an attribute, so an arm of its own is
written instead.

An or-pattern inside a tuple is treated the same, unless the rest of the pattern names CUDA too:
then the whole arm is copied (PK301).

Not handled: an or-pattern outside a ``match``, as in a ``let``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import pattern_members
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.match_arm import enum_of, mixed_lists, names_vendor, pattern_key
from portkit.site.context import Gating, Site
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

CODE = "PK302"


def check(site: Site) -> Iterator[Finding]:
    """Find an or-pattern with a member of the source vendor."""
    job = site.job
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    lists = mixed_lists(site, pattern)
    if not lists:
        return
    named = [m for members in lists for m in members if names_vendor(site, node_text(m))]
    alone = _alone(site, pattern, lists)
    if job.gating is Gating.CFG:
        value = site.source.text(pattern.end_byte, site.node.end_byte)
        edits: tuple[Edit, ...] = (emit.insertion(site, emit.gated(site, alone + value)),)
    else:
        edits = tuple(Edit(m.end_byte, m.end_byte, " | " + job.rename(node_text(m))) for m in named)
    yield emit.finding(
        site,
        CODE,
        f"match arm: {enum_of(site, pattern)}",
        f"{job.vendor.title} joins the or-pattern",
        applicability=Applicability.SAFE,
        status=Status.PORTED if _stands(site, lists, alone) else Status.TODO,
        edits=edits,
        claims=tuple(
            Span(m.start_byte, m.end_byte)
            for members in lists
            for m in members
            if m in named or job.names_peer(node_text(m))
        ),
    )


def _alone(site: Site, pattern: Node, lists: list[list[Node]]) -> str:
    """Return the pattern of an arm on the written vendor's values alone, the guard included."""
    out, at = [], pattern.start_byte
    for members in sorted(lists, key=lambda members: members[0].start_byte):
        renamed = [
            site.job.rename(node_text(m)) for m in members if names_vendor(site, node_text(m))
        ]
        out += [site.source.text(at, members[0].start_byte), " | ".join(renamed)]
        at = members[-1].end_byte
    return "".join([*out, site.source.text(at, pattern.end_byte)])


def _stands(site: Site, lists: list[list[Node]], alone: str) -> bool:
    """Whether the value has joined each list, or has an arm of its own."""
    joined = all(
        {pattern_key(site.job.rename(node_text(m))) for m in members}
        <= {pattern_key(node_text(m)) for m in members}
        for members in lists
    )
    return joined or any(
        pattern_key(node_text(m)) == pattern_key(alone)
        for arm, _ in emit.peers_of(site)
        if (other := arm.child_by_field_name("pattern")) is not None
        for m in (other, *pattern_members(other))
    )


RULE = Rule(CODE, "or_pattern", frozenset({"match_arm"}), check)
