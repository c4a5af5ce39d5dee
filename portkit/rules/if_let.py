"""An ``if let`` on a value of the CUDA backend.

``if let Device::Cuda(_) = device { .. }`` runs a step for CUDA alone. Where the pattern binds
nothing of CUDA's value and the body names nothing of CUDA, ROCm joins the pattern, for a person to
review; so it does where CUDA stands beside others. Otherwise ROCm gets a step of its own, since a
binding has one type: a copy of the statement after it, or, where an ``else`` follows, one more
branch of the chain.

With ``--gating cfg`` a pattern and a branch of a chain cannot stand under the feature; the
statement is copied under it, and a chain with an ``else`` is left to a person. The pattern may
stand in a chain of conditions, ``if let Device::Cuda(_) = device && rows > 1``.

Not handled: a chain with two such patterns, which is listed as unaccounted; a ``while let`` is
another rule's (PK408).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import AddBranch, CopySite, Intent, JoinPatterns
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text, span_of, spans_of
from portkit.syntax.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an ``if let`` on a value of the source vendor."""
    job, construct = site.job, "if let on a device"
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    let = patterns.find_let(condition, job.rename_changes_code)
    pattern = let.child_by_field_name("pattern") if let is not None else None
    if let is None or pattern is None:
        return
    own = f"a step of its own for {job.vendor.title}"
    branch = (Span(condition.start_byte, body.end_byte),)
    alone = site.node.child_by_field_name("alternative") is None and _is_statement(site)
    apart = CopySite if alone else AddBranch
    step = apart(construct, own, claims=branch)
    lists = patterns.find_mixed_or_patterns(pattern, job.mentions_cuda_value)
    binds = patterns.may_bind_value(pattern, job.mentions_cuda_value)
    if not lists and (binds or job.rename_changes_code(node_text(body))):
        yield step
        return
    yield JoinPatterns(
        construct,
        f"the step runs for {job.vendor.title} too: see that it is needed there",
        review=True,
        lists=tuple(map(spans_of, lists or [patterns.split_or_pattern(pattern)])),
        otherwise=step,
        claims=(span_of(let),),
    )


def _is_statement(site: Site) -> bool:
    """Whether an ``if`` is no value, and no part of a chain."""
    return site.outer is not None and site.outer.kind in ("expression_statement", "block")


RULE = SiteRule("PK403", frozenset({"if_expression"}), check)
