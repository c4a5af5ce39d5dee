"""An or-pattern in which CUDA's value stands beside others.

``Self::Cuda(_) | Self::Metal(_) => true`` says the same of several backends. ROCm joins the list:
``Self::Cuda(_) | Self::Rocm(_) | Self::Metal(_)``. With ``--gating cfg`` the variant exists only
under the feature, and a member of a pattern cannot carry an attribute, so an arm of its own is
written instead. So it is if what follows the pattern names CUDA, in either gating: ``"cuda" | "gpu"
=> Device::Cuda(0)`` gets the arm ``"rocm" => Device::Rocm(0)``.

An or-pattern inside a tuple is treated the same, unless the rest of the pattern names CUDA too:
then the whole arm is copied (PK301).

Not handled: an or-pattern of an ``if let``, a ``let .. else`` or a ``while let``, which rules of
their own find (PK403, PK407, PK408).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import Intent, JoinPatterns
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an or-pattern with a member of the source vendor."""
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    lists = patterns.find_mixed_or_patterns(pattern, site.job.mentions_cuda_value)
    if lists:
        yield JoinPatterns(
            f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}",
            f"{site.job.vendor.title} joins the or-pattern",
            lists=tuple(map(spans_of, lists)),
        )


RULE = SiteRule("PK302", frozenset({"match_arm"}), check)
