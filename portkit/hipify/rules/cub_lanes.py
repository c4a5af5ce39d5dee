"""A name of CUB's that counts the lanes of a wavefront on AMD.

CUB counts 32 lanes. hipCUB counts those of the wavefront, 32 or 64, and its masks of lanes have 64
bits. Nothing is written.

Example: ``cub::LaneId()`` stays and is reported, and so is ``cub::WarpReduce`` that is handed over
without its arguments.

What to do: the finding names a function that counts 32 lanes, or a number. Write that one.

Source: CUB documentation, "Warp-wide collectives" and "PTX utilities"; hipCUB headers,
hipcub/backend/rocprim/util_ptx.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules._findings import report_manual
from portkit.hipify.rules.cub_warp import PRIMITIVES, find_cub_names, read_template_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH212"

_FUNCTIONS: Final = {
    "LaneId": "write `(__lane_id() & 31u)`",
    "WarpId": "write `(threadIdx.x / 32u)` in a block of one dimension",
    "LaneMaskLt": "write `((1u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskLe": "write `((2u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskGt": "write `~((2u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskGe": "write `~((1u << (__lane_id() & 31u)) - 1u)`",
    "WarpMask": "write a mask of 32 bits",
    "ShuffleUp": "write `hipx::shfl_up`",
    "ShuffleDown": "write `hipx::shfl_down`",
    "ShuffleIndex": "write `hipx::shfl`",
    "MatchAny": "write a loop over `hipx::ballot`",
    "WARP_SYNC": "write `hipx::syncwarp`",
    "WARP_ANY": "write `hipx::any`",
    "WARP_ALL": "write `hipx::all`",
    "WARP_BALLOT": "write `hipx::ballot`",
    "LoadDirectWarpStriped": "write the loads with a stride of 32",
    "StoreDirectWarpStriped": "write the stores with a stride of 32",
}
_METHODS: Final = ("WarpStripedToBlocked", "BlockedToWarpStriped", "ScatterToWarpStriped")
"""Members of ``BlockExchange``, which gives them no number of lanes."""


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such name."""
    for index in find_cub_names(source, {*_FUNCTIONS, *PRIMITIVES}):
        name = source.texts[index]
        if name in _FUNCTIONS:
            yield _report(source, index, _FUNCTIONS[name])
        elif not source.is_token(index - 3, "using"):
            arguments = read_template_arguments(source, index)
            if arguments is None or len(arguments) < PRIMITIVES[name]:
                yield _report(source, index, "write its number of lanes, 32")
    for name in _METHODS:
        for index in source.names.get(name, ()):
            if source.is_token(index - 1, "."):
                yield _report(source, index, "write the exchange with a stride of 32")


def _report(source: KernelSource, index: int, action: str) -> Finding:
    name = source.texts[index]
    message = f"{name}: hipCUB counts the lanes of a wavefront, 32 or 64, where CUB counts 32: "
    return report_manual(
        source, CODE, index, index, construct="CUB on lanes", message=f"{message}{action}"
    )
