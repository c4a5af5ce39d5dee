"""A warp function of before CUDA 9, which takes no mask.

HIP has ``__shfl``, ``__any``, ``__ballot`` and their kin under the same names, but on a wavefront
of 32 or 64 lanes, with a ballot of 64 bits: the source would compile and mean something else. The
prelude's functions work on logical warps of 32 lanes on every architecture, as those with a mask do
after PH105.

Example: ``__shfl_up(x, 1)`` becomes ``hipx::shfl_up(x, 1)``.

Limits: what a condition of the preprocessor keeps for AMD alone is HIP already and stays, and so
does a function or macro of such a name that the tree itself defines.

Source: CUDA 8.0 C Programming Guide, "Warp Vote Functions" and "Warp Shuffle Functions" (removed
for compute capability 7.0 and later since CUDA 9.0); HIP headers, amd_warp_functions.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import find_cuda_uses, is_declared_in_source, report_rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH111"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use."""
    for name, mapping in api_table.load_corrections().items():
        uses = source.names.get(name, ())
        if (
            mapping.kind != "unmasked"
            or name in source.own
            or is_declared_in_source(source, name, uses)
        ):
            continue
        for index in find_cuda_uses(source, name):
            yield report_rename(source, CODE, index, mapping.hip, "warp function without a mask")
