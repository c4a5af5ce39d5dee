"""A branch that does something of CUDA's own.

``if cuda_is_available() { Device::new_cuda(0) } else if metal_is_available() { .. }`` has one
branch per backend. The chain gains a branch for ROCm, a copy of CUDA's condition and body, right
after it.

A branch whose body names nothing of CUDA is a condition to widen instead (PK401).

Not handled: a branch for the absence of CUDA, ``if !device.is_cuda() { .. }``, whose body names
CUDA all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.span import Span
from portkit.rules import SiteRule
from portkit.site.intent import Branch, Intent
from portkit.site.questions import is_of_source, questions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a branch of an ``if`` that is specific to the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    if questions(job, condition) and is_of_source(job, site.node):
        yield Branch(
            "if chain over devices",
            f"the chain gains a branch for {job.vendor.title}",
            span=Span(site.node.start_byte, body.end_byte),
        )


RULE = SiteRule("PK402", frozenset({"if_expression"}), check)
