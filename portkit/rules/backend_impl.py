"""An implementation for one of CUDA's types, or of one of its traits.

ROCm's type needs the same methods and conversions. The whole ``impl`` is copied under the name
table: its type or its trait is CUDA's alone, so the copy cannot clash with it.

Not handled: an implementation whose head says nothing of CUDA. It is shared, and what it holds is
looked at place by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.items import head_of
from portkit.rules import SiteRule
from portkit.site.intent import Copy, Intent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an implementation whose head names the source vendor."""
    job = site.job
    head = head_of(site.node)
    if not site.scope.vendor and not site.conditions and job.renames_code(head):
        message = f"copy the implementation for {job.vendor.title}"
        yield Copy("impl", message, symbol=site.symbol(head))


RULE = SiteRule("PK508", frozenset({"impl_item"}), check)
