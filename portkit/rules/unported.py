"""A place that belongs to a library without a counterpart, such as cuTile, or a name that stays.

The profile lists such features, each with its reason. What stands under one, or is named after one,
is left alone; a copy of the code around it is made with the feature off. So is a name that every
backend uses, though it is that of a library of CUDA's.

Where such an item can be reached with a value of ROCm, the profile may hold a guard (PK106).

Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import span_of
from portkit.rules import SiteRule
from portkit.site.intent import Intent, Keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"}
)


def check(site: Site) -> Iterator[Intent]:
    """Find an item under an unported feature, or a name of one, or one that is kept."""
    job = site.job
    kept = job.codebase.kept_names
    if site.kind in _NAMES and site.code in kept:
        yield Keep("name that is kept", kept[site.code], symbol=site.symbol(site.name))
        return
    feature = site.unported_feature
    if not feature and site.kind in _NAMES:
        words = site.code.lower().replace("_", "-")
        feature = next((f for f in job.unported_words if f in words), "")
    if feature:
        construct = f"{'name of' if site.kind in _NAMES else 'feature'} {feature}"
        yield Keep(construct, job.vendor.unported[feature], symbol=site.symbol(site.name))
        return
    for attribute, cfg in site.conditions:
        named = sorted(cfg.features() & set(job.vendor.unported))
        if named and not job.about_source(cfg):
            construct, reason = f"condition on {named[0]}", job.vendor.unported[named[0]]
            yield Keep(
                construct, reason, symbol=site.symbol(site.name), claims=(span_of(attribute),)
            )


RULE = SiteRule("PK801", frozenset({"*"}), check)
