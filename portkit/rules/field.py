"""A field of a struct that is named after CUDA or has one of its types.

What a struct keeps for CUDA, ROCm needs to keep as well: the struct gains a field of the same shape
for ROCm. Each place that builds the struct has an initializer of the same name, which is found and
copied in the same way.

Not handled: the short form ``Devices { cuda }``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import field_text
from portkit.rules import SiteRule
from portkit.site.intent import Copy, Intent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a field, or its initializer, that is named after the source vendor."""
    job = site.job
    field = field_text(site.node, "name") or field_text(site.node, "field")
    if site.scope.vendor or not job.names_source(field) or site.conditions:
        return
    if not job.names_unported(field):
        message = f"the field gains {job.rename(field)} beside it"
        yield Copy("field", message, symbol=site.symbol(field))


RULE = SiteRule("PK506", frozenset({"field_declaration", "field_initializer"}), check)
