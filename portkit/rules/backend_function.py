"""A function that is named after CUDA: ``new_cuda``, ``as_cuda_device``, ``cuda_if_available``.

Its ROCm counterpart is the copy under the name table, right after it. With ``--gating cfg`` the
copy stands under the feature where it names a type that exists only there. Callers that are
compiled in every build still need the name, so a function that could answer without the feature
gets a twin that does: ``false`` for a ``bool``, for a ``Result`` the error that the profile names.

One that is named after the absence of CUDA, such as ``dtypes_without_cuda``, is a person's.

Not handled: a function whose signature names such a type can exist only with the feature.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual
from portkit.rules import SiteRule
from portkit.syntax.source_file import span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a function that is named after the source vendor, outside traits."""
    job = site.job
    if site.scope.vendor or not job.mentions_cuda(site.name):
        return
    if site.scope.container in ("trait", "trait impl") or site.conditions:
        return
    if (plain := job.codebase.find_no_feature_entry(site.source.path)) is not None:
        named = site.node.child_by_field_name("name")
        claims = (span_of(named),) if named is not None else ()
        yield LeaveUnchanged("fn", plain.reason, symbol=site.symbol(site.name), claims=claims)
        return
    if re.search(rf"(?i)(?:^|_)(?:no|non|not|without)_?{job.vendor.source}", site.name):
        ask = f"it is about the absence of CUDA: see whether it holds for {job.vendor.title}"
        yield RequireManual("fn", ask, symbol=site.symbol(site.name))
        return
    yield CopySite(
        "inherent fn" if site.scope.container else "fn",
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
    )


RULE = SiteRule("PK503", frozenset({"function_item", "function_signature_item"}), check)
