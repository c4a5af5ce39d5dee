"""A trait's method for CUDA, and each implementation of it.

``CustomOp1::cuda_fwd`` runs an operation on CUDA's storage. ROCm needs a method of its own,
``rocm_fwd``: in the trait, with the same default, and in each type that implements CUDA's. A type
without it compiles and fails at run time with "no ROCm implementation", which is why the parity
check counts both.

Not handled: methods that a macro makes; PK510 copies the call of such a macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a method named after the source vendor, in a trait or an implementation of one."""
    job = site.job
    if site.scope.container not in ("trait", "trait impl") or site.scope.vendor:
        return
    if not job.mentions_cuda(site.name) or site.unported_feature:
        return
    in_trait = site.scope.container == "trait"
    yield CopySite(
        "trait method default" if in_trait else "trait method impl",
        f"{job.rename(site.name)} is its copy",
        symbol=site.symbol(site.name),
    )


RULE = SiteRule("PK504", frozenset({"function_item", "function_signature_item"}), check)
