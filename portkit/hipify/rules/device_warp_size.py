"""The warp size that the host asks a device for.

HIP's answer is the size of the wavefront, 64 on gfx90a and gfx94x, while kernels that portkit has
translated count logical warps of 32 lanes. A grid, a buffer or a loop that is made from the answer
then fits other kernels than these.

Example: ``properties.warpSize`` stays and is reported, and so does ``cudaDevAttrWarpSize``.

What to do: write 32 where the number goes to a kernel that was translated; keep what is only shown,
or goes to a kernel that was written for wavefronts.

Limits: a member of that name that a type of the tree's own has is reported, too.

Source: CUDA Runtime API, ``cudaDeviceProp``; HIP Runtime API, ``hipDeviceProp_t``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import MEMBER, report_manual
from portkit.hipify.rules.warp_size import NAME, find_qualified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH211"

_ATTRIBUTES = ("cudaDevAttrWarpSize", "CU_DEVICE_ATTRIBUTE_WARP_SIZE")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each member and each attribute."""
    builtin = set(find_qualified(source))
    named = [i for i in source.names.get(NAME, ()) if i and i not in builtin]
    members = [i for i in named if source.tokens[i - 1].text in MEMBER]
    attributes = [i for name in _ATTRIBUTES for i in source.names.get(name, ())]
    for index in (*members, *attributes):
        yield report_manual(
            source,
            CODE,
            index,
            index,
            construct="warp size of a device",
            message=(
                f"{source.tokens[index].text}: HIP answers with the wavefront, 32 or 64: write "
                "32 where it goes to a translated kernel, which counts logical warps of 32 lanes"
            ),
        )
