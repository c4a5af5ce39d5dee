"""A branch that does something of CUDA's own.

``if cuda_is_available() { Device::new_cuda(0) } else if metal_is_available() { .. }`` has one
branch per backend. The chain gains a branch for ROCm, a copy of CUDA's condition and body, right
after it.

A branch that a name decides, ``if name == "cuda" { .. }``, is one as well, and so is one that a
pattern decides, ``if matches!(device, Device::Cuda(_)) { .. }``.

A build script asks for a feature by ``CARGO_FEATURE_CUDA``. Both features may be on, so an ``if``
without ``else`` is followed by its copy.

A branch whose body names nothing of CUDA is a condition to widen instead (PK401).

Not handled: a branch for the absence of CUDA, ``if !device.is_cuda() { .. }``, whose body names
CUDA all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_queries import is_cuda_branch, list_cuda_queries, name_feature_variable
from portkit.context.intent import AddBranch, CopySite, Intent
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text
from portkit.syntax.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a branch of an ``if`` that is specific to the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    if not list_cuda_queries(job, condition) or not is_cuda_branch(site, site.node):
        return
    if patterns.find_let(condition, job.rename_changes_code) is not None:
        return  # PK403's
    if name_feature_variable(job) in node_text(condition) and _is_alone(site):
        yield CopySite("if on a feature", f"the same for {job.vendor.title}")
        return
    yield AddBranch(
        "if chain over devices",
        f"the chain gains a branch for {job.vendor.title}",
        span=Span(site.node.start_byte, body.end_byte),
    )


def _is_alone(site: Site) -> bool:
    """Whether an ``if`` is a statement, and no part of a chain."""
    parent = site.parent
    is_statement = parent is not None and parent.type == "expression_statement"
    return is_statement and site.node.child_by_field_name("alternative") is None


RULE = SiteRule("PK402", frozenset({"if_expression"}), check)
