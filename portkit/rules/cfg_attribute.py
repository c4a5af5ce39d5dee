"""An attribute that stands under a condition about CUDA: ``#[cfg_attr(..)]``.

``#[cfg_attr(not(feature = "cuda"), allow(dead_code))]`` says what the compiler is told where there
is no CUDA. What the item is then follows ROCm as well, so the condition is widened. A lint changes
no code; any other attribute, such as a ``derive``, is for a person to look at.

If the attribute is ``path = ".."``, a person chooses the module's file.

What is copied as a whole has its attributes with it; what exists for CUDA alone and is shared, its
own condition widened (PK501), is told the same for both.

Not handled: the attributes of a file, ``#![cfg_attr(..)]``, and what such an attribute says of CUDA
behind its condition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.context.intent import Intent, LeaveUnchanged, RequireManual, WidenCondition
from portkit.rules import SiteRule, cfg_item, match_arm, statement
from portkit.syntax.cfg import find_attributes, parse_cfg_attr
from portkit.syntax.source_file import node_text, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


# The Rust reference, chapter "Diagnostic attributes", section "Lint check attributes".
_LINT = re.compile(r"(?:allow|expect|warn|deny|forbid)\s*\(")
_PATH = re.compile(r"path\s*=")


def check(site: Site) -> Iterator[Intent]:
    """Find an attribute under a condition that names the source vendor's feature."""
    job = site.job
    # Most nodes have no attribute, and what is asked below takes longer to tell.
    attributes = tuple(find_attributes(site.node, site.attributes))
    if not attributes:
        return
    # The attributes of an arm are those of its pattern too.
    if site.kind == "match_pattern" or site.scope.vendor or site.unported_feature:
        return
    if site.is_cuda_only and not _is_shared(site):
        return
    if site.kind in statement.RULE.nodes and any(statement.check(site)):
        return
    if job.find_vendor(site.name) == job.vendor.source:
        return
    for attribute in attributes:
        text = node_text(attribute)
        cfg, rest = parse_cfg_attr(text)
        if cfg is None:
            continue
        construct, symbol = "conditional attribute", site.symbol(site.name)
        unported = sorted(cfg.features() & job.vendor.unported.keys())
        path = site.source.path
        if (
            job.cfg_mentions_cuda(cfg)
            and (plain := job.codebase.find_no_feature_entry(path)) is not None
        ):
            yield LeaveUnchanged(
                construct, plain.reason, symbol=symbol, claims=(span_of(attribute),)
            )
        elif job.cfg_mentions_cuda(cfg) and _PATH.match(rest):
            message = (
                "This attribute chooses the file of a module by CUDA's feature. A build for"
                f" {job.vendor.title} must choose its own file. Write the attribute by hand"
            )
            yield RequireManual(construct, message, symbol=symbol, claims=(span_of(attribute),))
        elif job.cfg_mentions_cuda(cfg) and not job.find_unported_feature(cfg):
            yield WidenCondition(
                construct,
                f"what is said of it holds for {job.vendor.title} too",
                symbol=symbol,
                review=_LINT.match(rest) is None,
                condition=attribute,
                within=attribute,
            )
        elif unported:
            reason = job.vendor.unported[unported[0]]
            yield LeaveUnchanged(construct, reason, symbol=symbol, claims=(span_of(attribute),))


def _is_shared(site: Site) -> bool:
    """Whether the condition that a site stands under is widened."""
    rule = match_arm if site.kind == "match_arm" else cfg_item
    return any(isinstance(each, WidenCondition) for each in rule.check(site))


RULE = SiteRule("PK512", frozenset({"*"}), check)
