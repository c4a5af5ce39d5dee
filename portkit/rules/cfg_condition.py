"""A condition that names CUDA's feature among others, or asks for its absence.

``#[cfg(any(feature = "cuda", feature = "metal"))]`` gains ``feature = "rocm"``. What stands under
``#[cfg(not(feature = "cuda"))]`` is one of two things. If it stands in for CUDA, as ``pub use
dummy_cuda_backend as cuda`` does, it is copied under ``not(feature = "rocm")``; a test gets a name
of its own then, since both conditions may hold. If it is what remains when no GPU is there, or one
of a pair whose other is CUDA's under the same name, its condition is widened to ``not(any(feature =
"cuda", feature = "rocm"))``. A module whose twin for CUDA gets no copy keeps its condition: it is
what a build for ROCm has until a person writes a counterpart.

Not handled: the conditions of ``cfg_attr`` and of a whole file, ``#![cfg(..)]``, which are listed
as unaccounted or left to a person. Source: the Rust reference, chapter "Conditional compilation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, WidenCondition
from portkit.port.cuda_only_deps import is_lone_twin
from portkit.port.feature_conflicts import STEPS, is_paired
from portkit.rules import SiteRule
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import node_text, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a condition that names the source vendor's feature without requiring it alone."""
    job = site.job
    if site.kind == "match_arm" or site.scope.vendor or site.unported_feature:
        return
    for attribute, cfg in site.conditions:
        if not job.cfg_mentions_cuda(cfg) or job.cfg_requires_cuda(cfg):
            continue
        if job.cfg_requires_either(cfg) and not job.is_cuda_specific(site.code):
            continue  # PK501's, written or not
        symbol = site.symbol(site.name)
        if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
            is_there = (
                cfg.without(job.list_disabled_features(site.source.path) | {*job.vendor.peers})
                is True
            )
            claims = (span_of(attribute),) if is_there or job.cfg_excludes_cuda(cfg) else None
            yield LeaveUnchanged("cfg condition", plain.reason, symbol=symbol, claims=claims)
            if claims is None:
                return
            continue
        if site.name and job.find_vendor(site.name) == job.vendor.name:
            kept = f"what is {job.vendor.title}'s own keeps its condition"
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        if site.kind == "macro_definition" and site.name in job.tree_facts.macros:
            kept = "the macro takes an argument for each backend (PK601): see where it is to stand"
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        if job.cfg_excludes_cuda(cfg) and is_lone_twin(site):
            kept = (
                f"`{site.name}` has no counterpart for {job.vendor.title} yet, so a build for"
                f" {job.vendor.title} has this module. Widen its condition when you write one"
            )
            claims = (span_of(attribute),)
            yield LeaveUnchanged("cfg condition", kept, symbol=symbol, review=True, claims=claims)
            continue
        written = job.cfg_requires_rocm(cfg)
        stands_in = (
            job.cfg_excludes_cuda(cfg) and not written and job.rename_changes_code(site.code)
        )
        paired = stands_in and is_paired(site)
        if (
            stands_in
            and not paired
            and site.kind != "match_pattern"
            and not job.mentions_peer(node_text(attribute))
        ):
            is_use = site.kind == "use_declaration"
            construct = "import/re-export" if is_use else "cfg item: not(cuda)"
            message = f"copy what stands in for CUDA, for {job.vendor.title}"
            yield CopySite(construct, message, symbol=symbol, name=_own_name(site))
            return
        yield WidenCondition(
            "cfg condition",
            "the condition names the GPU backends: ROCm is one of them",
            symbol=symbol,
            condition=attribute,
            within=attribute,
            claims=(site.span,) if written or (paired and site.kind not in STEPS) else None,
        )


def _own_name(site: Site) -> str:
    """Return the name of a test's copy, which would bear its name; empty for anything else."""
    is_test = any(
        normalize_rust(node_text(attribute)) == "#[test]" for attribute in site.attributes
    )
    if not is_test or site.job.rename(site.name) != site.name:
        return ""
    return f"{site.job.vendor.name}_{site.name}"


RULE = SiteRule("PK502", frozenset({"*"}), check)
