"""An arm that turns a peer away inside code that is specific to CUDA.

``as_cuda_device`` matches on every backend and answers ``Self::Metal(_)`` with "expected a cuda
device, got Metal". ROCm is one more backend to turn away, so the arm is written from the peer's:
``Self::Rocm(_) => bail!("expected a cuda device, got rocm")``. The ROCm copy of the function turns
CUDA away in the same manner.

A ``match`` with a ``_`` arm and no peer needs nothing. One that names neither, such as that of
``is_cuda`` with ``Self::Cpu => false``, answers for ROCm as it does for all but CUDA. Where these
answer differently, ROCm gets the last answer, and where each is about its own value, an error:
the finding is `review` then.

Not handled: a ``match`` on two values that names neither; there rustc reports the missing variant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent, JoinPatterns, RequireManual
from portkit.port import peer_arms
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a peer's arm in the source vendor's code, or its own where a peer has none."""
    vendor = site.job.vendor
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor != vendor.source:
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    members = patterns.split_or_pattern(pattern)
    if any(site.job.mentions_peer(node_text(m)) for m in members):
        yield JoinPatterns(
            construct,
            f"turn {vendor.title} away where {vendor.peers[0].capitalize()} is",
            lists=(spans_of(members),),
            peer=True,
        )
        return
    answer = peer_arms.find_backend_answer(
        site.job, site.node, peer_arms.list_default_answers(site)
    )
    if answer is not None and any(site.job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        yield RequireManual(
            construct, f"it stands where the feature is off: see what {vendor.title}'s is"
        )
    elif answer is not None and not site.job.rename_changes_code(site.scope.type_name):
        yield CopySite(
            construct,
            f"answer for {vendor.title} as for all but {vendor.source.upper()}"
            if answer.rest.certain
            else f"the arms but {vendor.source.upper()}'s do not answer alike: see whether this is"
            f" {vendor.title}'s answer",
            review=not answer.rest.certain,
            text=f"{site.job.rename(answer.pattern)} => {answer.rest.value},",
        )


RULE = SiteRule("PK303", frozenset({"match_arm"}), check)
