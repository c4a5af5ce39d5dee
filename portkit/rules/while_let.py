"""A ``while let`` on a value of the CUDA backend.

``while let Some(Device::Cuda(_)) = queue.pop() { .. }`` goes on for as long as values are CUDA's.
Where the pattern binds nothing of CUDA's own, and neither the value nor the body names anything of
CUDA, ROCm joins it, for a person to review: ``Some(Device::Cuda(_)) | Some(Device::Rocm(_))``. So
it does where CUDA stands beside others.

Otherwise it is left to a person. A copy of the loop after it would be wrong: the loop has taken the
value that ends it, so that the copy misses the first of ROCm's, and where the two alternate, each
stops at the other's. What keeps the order is one ``loop`` over a ``match`` with an arm for each and
``_ => break``; the arms are then ported as any others (PK301).

With ``--gating cfg`` the variant exists only under the feature, and a member of a pattern cannot
stand under one: it is left to a person too. Not handled: what the body does for one device alone,
where ROCm joins; a chain with two such patterns, which is listed as unaccounted; a loop under
``#[cfg(feature = "cuda")]``, which is copied as a statement (PK501).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import Intent, JoinPatterns, RequireManual
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import field_text, span_of, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site

_CONSTRUCT = "while let on a device"


def check(site: Site) -> Iterator[Intent]:
    """Find a ``while let`` on a value of the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    let = patterns.find_let(condition, job.mentions_cuda_value)
    pattern = let.child_by_field_name("pattern") if let is not None else None
    if site.scope.vendor or site.is_cuda_only:
        return
    if let is None or pattern is None:
        return
    title = job.vendor.title
    by_hand = (
        f"a second loop would miss the value that ends this one: make it a loop over a match, "
        f"with an arm for CUDA, one for {title}, and a break for the rest"
    )
    lists = patterns.find_mixed_or_patterns(pattern, job.mentions_cuda_value)
    own = patterns.may_bind_value(pattern, job.mentions_cuda_value) or job.rename_changes_code(
        field_text(site.node, "body")
    )
    if (own and not lists) or job.rename_changes_code(field_text(let, "value")):
        yield RequireManual(_CONSTRUCT, by_hand)
        return
    claims = (span_of(let),)
    yield JoinPatterns(
        _CONSTRUCT,
        f"the loop goes on for {title} too: see that it is to, and that it ends",
        review=True,
        lists=tuple(map(spans_of, lists or [patterns.split_or_pattern(pattern)])),
        otherwise=RequireManual(_CONSTRUCT, by_hand, claims=claims),
        claims=claims,
    )


RULE = SiteRule("PK408", frozenset({"while_expression"}), check)
