"""A variant of an enum that stands for CUDA.

A device, a storage or an error of ROCm's must be a value of the same type as CUDA's. ``enum Device
{ Cpu, Cuda(CudaDevice), Metal(MetalDevice) }`` gains ``Rocm(RocmDevice)``; so do the storages, the
locations, the errors and every other enum with one variant per backend. With ``--gating cfg`` the
variant stands under the feature; an error that says that the feature is missing does not.

Not handled: an explicit discriminant or ``#[default]``, which the copy repeats; rustc reports both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site
    from portkit.tree.finding import Finding

CODE = "PK505"


def check(site: Site) -> Iterator[Finding]:
    """Find an enum variant named after the source vendor."""
    job = site.job
    if site.scope.vendor or not job.names_source(site.name) or site.conditions:
        return
    copy = copy_site(site)
    if job.rename(site.name) != job.codebase.error_without_feature:
        copy = emit.gated(site, copy)
    status, claims = emit.ported(site, emit.named_sibling(site, job.rename(site.name)))
    yield emit.finding(
        site,
        CODE,
        "enum variant",
        f"the enum gains {job.rename(site.name)}",
        status=status,
        edits=(emit.insertion(site, copy),),
        claims=claims,
    )


RULE = Rule(CODE, "enum_variant", frozenset({"enum_variant"}), check)
