"""A condition that names CUDA's feature among others, or asks for its absence.

``#[cfg(any(feature = "cuda", feature = "metal"))]`` gains ``feature = "rocm"``. What stands under
``#[cfg(not(feature = "cuda"))]`` is one of two things. If it stands in for CUDA, as ``pub use
dummy_cuda_backend as cuda`` does, it is copied under ``not(feature = "rocm")``; a test gets a name
of its own then, since both conditions may hold. If it is what remains when no GPU is there, its
condition is widened to ``not(any(feature = "cuda", feature = "rocm"))``.

Not handled: the conditions of ``cfg_attr`` and of a whole file, ``#![cfg(..)]``, which are listed
as unaccounted or left to a person. Source: the Rust reference, chapter "Conditional compilation".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.cfg import widen
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site

CODE = "PK502"


def check(site: Site) -> Iterator[Finding]:
    """Find a condition that names the source vendor's feature without requiring it alone."""
    job = site.job
    source, vendor = job.vendor.source, job.vendor.name
    if site.kind == "match_arm" or site.scope.vendor or emit.unported_feature(site):
        return
    for attribute, cfg in site.conditions:
        if source not in cfg.features() or cfg.requires(source):
            continue
        text = node_text(attribute)
        stands_in = cfg.forbids(source) and job.renames_code(site.code)
        if stands_in and not job.names_peer(text):
            yield from _copied(site)
            return
        yield emit.finding(
            site,
            CODE,
            "cfg condition",
            "the condition names the GPU backends: ROCm is one of them",
            symbol=site.symbol(site.name),
            status=Status.PORTED if vendor in cfg.features() else Status.TODO,
            edits=(Edit(attribute.start_byte, attribute.end_byte, widen(text, source, vendor)),),
            claims=(Span(attribute.start_byte, attribute.end_byte),),
        )


def _copied(site: Site) -> Iterator[Finding]:
    job = site.job
    construct = "import/re-export" if site.kind == "use_declaration" else "cfg item: not(cuda)"
    if job.gating is Gating.CFG:
        yield emit.finding(
            site,
            CODE,
            construct,
            "there is no dummy backend with --gating cfg",
            symbol=site.symbol(site.name),
            applicability=Applicability.KEEP,
        )
        return
    copy = copy_site(site)
    standing = emit.equal_sibling(site, copy)
    if _is_test(site) and job.rename(site.name) == site.name:
        # Nobody calls it, and where both features are off its name would stand twice.
        name = f"{job.vendor.name}_{site.name}"
        copy = re.sub(rf"\bfn {site.name}\b", f"fn {name}", copy, count=1)
        standing = emit.named_sibling(site, name, without=True)
    status, claims = emit.ported(site, standing)
    yield emit.finding(
        site,
        CODE,
        construct,
        f"copy what stands in for CUDA, for {job.vendor.title}",
        symbol=site.symbol(site.name),
        status=status,
        edits=(emit.insertion(site, copy),),
        claims=claims,
    )


def _is_test(site: Site) -> bool:
    attributes = (normal(node_text(attribute)) for attribute in site.attributes)
    return site.kind == "function_item" and "#[test]" in attributes


RULE = Rule(CODE, "cfg_condition", frozenset({"*"}), check)
