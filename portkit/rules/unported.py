"""A place that belongs to a library without a counterpart, such as cuTile, or a name that stays.

The profile lists such features, each with its reason. What stands under one, or is named after one,
is left alone; a copy of the code around it is made with the feature off. So is a name that every
backend uses, though it is that of a library of CUDA's.

In a file that takes the path without the feature (``[[plain]]`` of a profile) the same holds of
what stands under CUDA's feature, beside a peer's or not, of what is named after CUDA, of modules
that get no copy, and of tests. What such a file defines is called so everywhere.

Where such an item can be reached with a value of ROCm, the profile may hold a guard (PK106).

Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.context.port_job import Site
from portkit.port.host_fallback import find_on_host
from portkit.port.whole_files import is_own_module
from portkit.rules import SiteRule
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import node_text, span_of

_PATH: Final = re.compile(r"#\s*\[\s*path\s*=")
_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"}
)


def check(site: Site) -> Iterator[Intent]:
    """Find an item under an unported feature, or a name of one, or one that is kept."""
    job = site.job
    kept = job.codebase.kept_names
    if site.kind in _NAMES and site.code in kept:
        yield LeaveUnchanged("name that is kept", kept[site.code], symbol=site.symbol(site.name))
        return
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if plain is not None and find_on_host(site) is not None:
        return  # PK514's
    if plain is not None and (construct := _describe_unported(site)):
        is_module = construct == "path of a file"
        claims = tuple(map(span_of, site.attributes)) if is_module else (site.span,)
        yield LeaveUnchanged(construct, plain.reason, symbol=site.symbol(site.name), claims=claims)
        if not is_module:
            return
    feature = site.unported_feature
    if not feature and site.kind in _NAMES:
        words = site.code.lower().replace("_", "-")
        feature = next((f for f in job.unported_words if f in words), "")
    if feature:
        construct = f"{'name of' if site.kind in _NAMES else 'feature'} {feature}"
        why = job.explain_unported(feature, site.source.path)
        yield LeaveUnchanged(construct, why, symbol=site.symbol(site.name))
        return
    for attribute, cfg in site.conditions:
        named = sorted(cfg.features() & set(job.vendor.unported))
        if named and not job.cfg_mentions_cuda(cfg):
            construct, reason = f"condition on {named[0]}", job.vendor.unported[named[0]]
            yield LeaveUnchanged(
                construct, reason, symbol=site.symbol(site.name), claims=(span_of(attribute),)
            )


def _describe_unported(site: Site) -> str:
    """Return what a place is that is left as it is where nothing of CUDA's side is ported."""
    job, texts = site.job, [node_text(a) for a in site.attributes]
    if site.kind == "function_item" and any(normalize_rust(t) == "#[test]" for t in texts):
        return "test"
    if site.kind == "mod_item" and any(map(_PATH.match, texts)):
        return "path of a file"
    is_name = site.kind in _NAMES and job.mentions_cuda(site.code)
    if is_name and is_own_module(job, site.source.path, site.node):
        return "module that is not ported"
    return ""


RULE = SiteRule("PK801", frozenset({"*"}), check)
