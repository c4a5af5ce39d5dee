"""A place that belongs to a library without a counterpart: cuDNN, NCCL, cuTile, flash attention.

The profile lists such features, each with its reason. What stands under one, or is named after one,
is left alone; a copy of the code around it is made with the feature off.

Where such an item can be reached with a value of ROCm, the profile may hold a guard (PK106).

Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Applicability, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK801"

_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"}
)


def check(site: Site) -> Iterator[Finding]:
    """Find an item under an unported feature, or a name of one."""
    job = site.job
    feature = emit.unported_feature(site)
    if not feature and site.kind in _NAMES:
        words = site.code.lower().replace("_", "-")
        feature = next((f for f in job.unported_words if f in words), "")
    if not feature:
        yield from _condition(site)
        return
    yield emit.finding(
        site,
        CODE,
        f"feature {feature}" if site.kind not in _NAMES else f"name of {feature}",
        job.vendor.unported[feature],
        symbol=site.symbol(site.name),
        applicability=Applicability.KEEP,
    )


def _condition(site: Site) -> Iterator[Finding]:
    """Find a condition that names an unported feature without requiring it."""
    job = site.job
    for attribute, cfg in site.conditions:
        named = sorted(cfg.features() & set(job.vendor.unported))
        if named and job.vendor.source not in cfg.features():
            yield emit.finding(
                site,
                CODE,
                f"condition on {named[0]}",
                job.vendor.unported[named[0]],
                symbol=site.symbol(site.name),
                applicability=Applicability.KEEP,
                claims=(Span(attribute.start_byte, attribute.end_byte),),
            )


RULE = Rule(CODE, "unported", frozenset({"*"}), check)
