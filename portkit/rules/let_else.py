"""A ``let .. else`` on a value of the CUDA backend.

``let Device::Cuda(_) = device else { return Ok(()) };`` turns every other device away. Where the
pattern binds nothing of CUDA's own, ROCm joins it, for a person to review: ``let (Device::Cuda(_) |
Device::Rocm(_)) = device else { .. }``. Where it binds CUDA's value, all that follows is about that
value, and is left to a person.

With ``--gating cfg`` the variant exists only under the feature, and a member of a pattern cannot
stand under one: it is left to a person too. Not handled: what follows, where ROCm joins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import Intent, JoinPatterns, RequireManual
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text, span_of, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a ``let`` with an ``else`` whose pattern names the source vendor."""
    job, construct = site.job, "let .. else on a device"
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.node.child_by_field_name("alternative") is None:
        return
    if site.scope.vendor or site.conditions or not job.rename_changes_code(node_text(pattern)):
        return
    lists = patterns.find_mixed_or_patterns(pattern, job.mentions_cuda_value)
    title, claims = job.vendor.title, (span_of(pattern),)
    yield JoinPatterns(
        construct,
        f"{title} is not turned away: see that what follows holds for it",
        review=True,
        lists=tuple(map(spans_of, lists or [[pattern]])),
        pattern=None if lists else pattern,
        otherwise=RequireManual(
            construct,
            f"what follows runs for CUDA alone: give {title} a function or a branch of its own",
            claims=claims,
        ),
        claims=claims,
    )


RULE = SiteRule("PK407", frozenset({"let_declaration"}), check)
