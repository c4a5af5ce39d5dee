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

from portkit.lang import patterns
from portkit.lang.source import node_text, spans_of
from portkit.rules import SiteRule
from portkit.site.intent import Intent, Join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a peer's arm inside code that is specific to the source vendor."""
    vendor = site.job.vendor
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor != vendor.source:
        return
    members = patterns.members(pattern)
    if any(site.job.names_peer(node_text(m)) for m in members):
        yield Join(
            f"match arm: {patterns.enum_of(pattern, site.scope.type_name)}",
            f"turn {vendor.title} away where {vendor.peers[0].capitalize()} is",
            lists=(spans_of(members),),
            peer=True,
        )


RULE = SiteRule("PK303", frozenset({"match_arm"}), check)
