"""A function under ``#[cfg(feature = "cuda")]`` whose name says nothing of CUDA.

A copy of it would carry the same name, and with both features on it would stand twice. So the copy
gets a name of its own: ``rocm_moe_gemm`` for ``moe_gemm``. If a twin under ``not(feature =
"cuda")`` shows that callers use the plain name, the CUDA function hands the tensors of a ROCm
device over to the copy, and without CUDA the plain name belongs to ROCm. The device is taken from
the parameter on which the CUDA function calls ``as_cuda_device()``. Where none says it, the copy
keeps the name and gives way to CUDA's where both features are on, and a person looks at it.

What such functions import from CUDA's modules under an unchanged name, as in ``use
cuda_backend::kernels::ffi``, cannot be imported twice either: each copy imports it itself.

A ``main`` is a person's, since a program has one.

Not handled: handing over to a copy whose twin stands under another vendor's feature alone, where no
parameter says the device.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.context.intent import CopyUnderName, Intent, RequireManual
from portkit.port import counterparts, feature_conflicts
from portkit.port.dispatch_shim import list_copy_imports, list_parameters
from portkit.rules import SiteRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a function that exists only with the source vendor's feature, under a shared name."""
    job = site.job
    if site.scope.vendor or not site.is_cuda_only:
        return
    if job.rename(site.name) != site.name or site.unported_feature:
        return
    if not job.rename_changes_code(site.code):
        return
    if site.name == "main" and not site.scope.symbol:
        ask = f"a program has one main: write {job.vendor.title}'s by hand"
        yield RequireManual("cfg fn", ask, symbol=site.name)
        return
    name = f"{job.vendor.name}_{site.name}"
    message = f"copy it as {name}: under its own name it would stand twice with both features on"
    named = counterparts.list_siblings_named(site, site.name)
    called = any(n.type == site.kind and n.id != site.node.id for n, _ in named)
    device = _device(site)
    if paired := called and not device and feature_conflicts.is_paired(site):
        name, message = site.name, feature_conflicts.PAIRED
    elif called and not device:
        message += "; callers use the plain name: hand ROCm tensors over to the copy"
    yield CopyUnderName(
        "cfg fn",
        message,
        symbol=site.symbol(site.name),
        review=called and not device,
        name=name,
        imports=list_copy_imports(site),
        device=device,
        called=called and not paired,
    )


def _device(site: Site) -> str:
    """Return what the function asks for its device, if a parameter says it."""
    asks = re.search(rf"\b((\w+)(?:\.\w+\(\))*)\.as_{site.job.vendor.source}_device\(\)", site.code)
    return asks[1] if asks is not None and asks[2] in list_parameters(site) else ""


RULE = SiteRule("PK511", frozenset({"function_item"}), check)
