"""An arm of a ``match`` on a value of the CUDA backend.

A ``match`` over devices or storages has one arm per backend. The ROCm arm is the CUDA arm under the
name table: ``Storage::Cuda(s) => ..`` gives ``Storage::Rocm(s) => ..``, and an arm on two values of
one backend, ``(Cuda(a), Cuda(b))``, gives one on two values of ROCm. Without it rustc reports a
missing variant, but not where a ``_`` arm swallows it: that is why such arms are found here and not
left to the compiler. An arm on the string ``"cuda"`` is treated the same.

In a file that takes the path without the feature (``[[plain]]`` of a profile) the arm for builds
without CUDA is copied and ROCm takes it in every build; a person sees what it says.

An arm under the feature on a value that is no vendor's, such as ``"fused"``, is widened where it
names nothing of CUDA, and a person's where it does. Where CUDA's arm needs what CUDA alone has,
ROCm takes the arm that other devices share, and a person looks at it.

If an arm answers with a number or a word that the copy repeats, such as ``Device::Cuda(_) => 32``,
a person reviews it: ROCm may need another value.

Arms that name a peer's value, such as ``(Cuda(_), Metal(_))``, are copied too. Not handled: an arm
whose pattern is a macro.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.context.intent import (
    AlreadyPorted,
    CopySite,
    Intent,
    LeaveUnchanged,
    RequireManual,
    WidenCondition,
)
from portkit.port import cuda_tools
from portkit.port.error_arms import is_error_arm
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an arm on a value of the source vendor."""
    job = site.job
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    if not all(
        job.mentions_cuda_value(patterns.hide_bindings(m))
        for m in patterns.split_or_pattern(pattern)
    ):
        yield from _of_feature(site, pattern)
        return
    if patterns.find_mixed_or_patterns(pattern, job.mentions_cuda_value) or site.unported_feature:
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    if is_error_arm(site.node):
        kept = "the arm stands for one that is left out: see whether it is CUDA's"
        yield LeaveUnchanged(construct, kept, review=True)
    elif re.search(rf"\b{job.vendor.variant}\b", node_text(pattern)):
        title = job.vendor.title
        yield AlreadyPorted(construct, f"the arm is between the two backends, {title} among them")
    else:
        message = f"copy the arm for {job.vendor.title}"
        plain = job.codebase.find_no_feature_entry(site.source.path) is not None
        unbuilt = plain and any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions)
        if unbuilt:
            message += ", with its feature on too: see that what it says is true then"
        yield CopySite(construct, message, review=unbuilt)


def _of_feature(site: Site, pattern: Node) -> Iterator[Intent]:
    """Find an arm under the source vendor's feature on a value that is no vendor's."""
    job = site.job
    if (
        not site.is_cuda_only
        or site.unported_feature
        or job.mentions_cuda_value(patterns.hide_bindings(pattern))
    ):
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    # The attributes of an arm are part of its node.
    if job.is_cuda_specific(site.source.text(pattern.start_byte, site.node.end_byte)):
        ask = f"its value is no vendor's, and CUDA answers it: choose {job.vendor.title}'s by hand"
        yield RequireManual(construct, ask)
        return
    if not any(job.cfg_requires_cuda(cfg) for _, cfg in site.conditions):
        return
    if any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        yield LeaveUnchanged(construct, "it asks for CUDA and for its absence, and never stands")
        return
    for attribute, cfg in site.conditions:
        if job.cfg_mentions_cuda(cfg):
            yield WidenCondition(
                construct,
                cuda_tools.explain_widening(
                    site, site.source.text(pattern.start_byte, site.node.end_byte)
                ),
                review=True,
                condition=attribute,
                within=attribute,
            )


RULE = SiteRule("PK301", frozenset({"match_arm"}), check)
