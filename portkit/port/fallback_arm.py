"""An arm that several devices share, which the written vendor takes where CUDA's cannot be copied.

``Device::Cpu | Device::Metal(_) => ..`` does with plain operations what ``Device::Cuda(_)`` does by
a crate that CUDA alone has. What serves the CPU and another GPU serves every device, as far as
types tell; whether it is meant is for a person to see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.context.port_job import Gating
from portkit.port import gating
from portkit.port.insert_position import insert_after_site
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site


def move_to_fallback_arm(site: Site) -> Edit | None:
    """Return the edit by which the written vendor takes the arm that others share, if there is one.

    It joins the arm's pattern. Where the site stands under a condition, or the vendor's variant
    does, it gets an arm of its own that does the same: a value that an arm before has taken would
    be one that cannot be reached.
    """
    job = site.job
    wanted = patterns.pattern_key(node_text(site.node.child_by_field_name("pattern")))
    for arm, _ in site.siblings:
        for listed, peer in _shared(job, arm):
            own = _renamed(job, node_text(peer))
            if patterns.pattern_key(_with(arm, listed, own)) != wanted:
                continue
            written = job.rename(own)
            if site.conditions or job.gating is Gating.CFG:
                return _apart(site, arm, _with(arm, listed, written))
            return Edit(peer.end_byte, peer.end_byte, f" | {written}")
    return None


def _shared(job: PortJob, arm: Node) -> Iterator[tuple[Sequence[Node], Node]]:
    """Yield the or-patterns of an arm in which a peer's value stands beside those of no backend."""
    pattern = arm.child_by_field_name("pattern") if arm.type == "match_arm" else None
    if pattern is None or pattern.child_by_field_name("condition") is not None:
        return
    if any(child.type == "attribute_item" for child in arm.children):
        return
    for listed in patterns.find_mixed_or_patterns(pattern, job.mentions_peer):
        plain = [m for m in listed if not job.mentions_peer(node_text(m))]
        if any(job.mentions_cuda_value(node_text(member)) for member in plain):
            continue
        if not any(True for member in listed for _ in patterns.find_bindings(member)):
            yield from ((listed, m) for m in listed if m not in plain)


def _renamed(job: PortJob, member: str) -> str:
    """Return a peer's value as the source vendor's."""
    peers = "|".join(map(re.escape, job.vendor.peers))
    as_written = {True: job.vendor.source.capitalize(), False: job.vendor.source}
    return re.sub(f"(?i:{peers})", lambda found: as_written[found[0][:1].isupper()], member)


def _with(arm: Node, listed: Sequence[Node], member: str) -> str:
    """Return the pattern of an arm with one member in place of a list."""
    pattern = arm.child_by_field_name("pattern")
    assert pattern is not None  # it was looked into
    data, start = node_text(pattern).encode(), pattern.start_byte
    first, last = listed[0].start_byte - start, listed[-1].end_byte - start
    return (data[:first] + member.encode() + data[last:]).decode()


def _apart(site: Site, arm: Node, pattern: str) -> Edit:
    first, value = site.node.child_by_field_name("pattern"), arm.child_by_field_name("value")
    assert first is not None  # an arm has both
    assert value is not None
    head = site.job.rename(site.source.text(site.node.start_byte, first.start_byte))
    does = site.source.text(value.start_byte, arm.end_byte)
    return insert_after_site(site, gating.gate_copy(site, f"{head}{pattern} => {does}"))
