"""An arm of a ``match`` on a value of the CUDA backend.

A ``match`` over devices or storages has one arm per backend. The ROCm arm is the CUDA arm under the
name table: ``Storage::Cuda(s) => ..`` gives ``Storage::Rocm(s) => ..``, and an arm on two values of
one backend, ``(Cuda(a), Cuda(b))``, gives one on two values of ROCm. Without it rustc reports a
missing variant, but not where a ``_`` arm swallows it: that is why such arms are found here and not
left to the compiler. An arm on the string ``"cuda"`` is treated the same.

Arms that name a peer's value, such as ``(Cuda(_), Metal(_))``, are copied too. Not handled: an arm
whose pattern is a macro.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying.left_out import is_left_out
from portkit.lang import patterns
from portkit.lang.source import node_text
from portkit.rules import SiteRule
from portkit.site.intent import Copy, Intent, Keep, Stands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an arm on a value of the source vendor."""
    job = site.job
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    if not all(job.names_value(node_text(m)) for m in patterns.members(pattern)):
        return
    if patterns.mixed_lists(pattern, job.names_value) or site.unported_feature:
        return
    construct = f"match arm: {patterns.enum_of(pattern, site.scope.type_name)}"
    if is_left_out(site.node):
        kept = "the arm stands for one that is left out: see whether it is CUDA's"
        yield Keep(construct, kept, review=True)
    elif re.search(rf"\b{job.vendor.variant}\b", node_text(pattern)):
        title = job.vendor.title
        yield Stands(construct, f"the arm is between the two backends, {title} among them")
    else:
        yield Copy(construct, f"copy the arm for {job.vendor.title}")


RULE = SiteRule("PK301", frozenset({"match_arm"}), check)
