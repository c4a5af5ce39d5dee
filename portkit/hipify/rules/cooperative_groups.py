"""Cooperative groups.

HIP has a part of them, whose tiles follow the wavefront instead of 32 lanes; synchronizing a whole
grid needs a cooperative launch that the host side must make. Nothing is written.

Example: ``namespace cg = cooperative_groups;`` stays and is reported.

What to do: use ``__syncthreads`` for a block and the prelude's warp functions for a warp.

Source: HIP headers, amd_hip_cooperative_groups.h; HIP Programming Guide, "Cooperative groups".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH206"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each mention of the namespace."""
    for index in source.names.get("cooperative_groups", ()):
        yield refused(
            source,
            CODE,
            index,
            index,
            construct="cooperative groups",
            message="cooperative groups: use __syncthreads and the prelude's warp functions",
        )
