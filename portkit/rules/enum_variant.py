"""A variant of an enum that stands for CUDA.

A device, a storage or an error of ROCm's must be a value of the same type as CUDA's. ``enum Device
{ Cpu, Cuda(CudaDevice), Metal(MetalDevice) }`` gains ``Rocm(RocmDevice)``; so do the storages, the
locations, the errors and every other enum with one variant per backend. With ``--gating cfg`` the
variant stands under the feature; an error that says that the feature is missing does not.

The copy has a number of its own where CUDA's variant has one, and it is not the default. Where the
numbers or the order of the variants count (``repr``, a cast, ``Ord``, ``Serialize``), it is the
last variant. Names in attributes that must be unique, such as ``#[serde(alias = "gpu")]``, are left
out. Each of these is for a person to review. Where portkit cannot tell which number is free, a
person adds the variant.

Not handled: a ``match`` that counts the variants in another way, such as a table of names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import CopySite, Intent
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an enum variant named after the source vendor."""
    job = site.job
    if not site.scope.vendor and job.mentions_cuda(site.name) and not site.conditions:
        new = job.rename(site.name)
        yield CopySite("enum variant", f"the enum gains {new}", renamed=(site.name, new))


RULE = SiteRule("PK505", frozenset({"enum_variant"}), check)
