"""An implementation for one of CUDA's types, or of one of its traits.

ROCm's type needs the same methods and conversions. The whole ``impl`` is copied under the name
table: its type or its trait is CUDA's alone, so the copy cannot clash with it.

Not handled: an implementation whose head says nothing of CUDA. It is shared, and what it holds is
looked at place by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent
from portkit.rules import SiteRule
from portkit.syntax.items import describe_impl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an implementation whose head names the source vendor."""
    job = site.job
    head = describe_impl(site.node)
    if not site.scope.vendor and not site.conditions and job.rename_changes_code(head):
        message = f"copy the implementation for {job.vendor.title}"
        yield CopySite("impl", message, symbol=site.symbol(head))


RULE = SiteRule("PK508", frozenset({"impl_item"}), check)
