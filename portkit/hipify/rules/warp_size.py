"""``warpSize`` in a kernel: 32 on every NVIDIA GPU.

HIP's is the size of the wavefront, 32 or 64 by architecture, while what portkit writes counts
logical warps of 32 lanes: a kernel that mixes the two computes something else on a GPU with
wavefronts of 64 lanes.

Example: ``threadIdx.x % warpSize`` becomes ``threadIdx.x % hipx::warp_size``.

Limits: a variable, parameter or macro of that name is the file's own, and then every use in the
file is left as it is; so is what a condition of the preprocessor keeps for AMD alone. What a device
is asked for, ``properties.warpSize``, is PH211's.

Source: CUDA C++ Programming Guide, "Built-in Variables" and "Compute Capabilities"; HIP C++
language extensions, "warpSize".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import STATEMENT, renamed, uses_on_cuda

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH112"

NAME = "warpSize"
_MADE = frozenset({"#define", "#undef"})


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use."""
    uses = source.names.get(NAME, ())
    if NAME in source.own or any(_is_declared(source, index) for index in uses):
        return
    for index in uses_on_cuda(source, NAME):
        yield renamed(source, CODE, index, api_table.corrections()[NAME].hip, "size of a warp")


def _is_declared(source: KernelSource, index: int) -> bool:
    """Whether a variable, parameter or macro of the name is made at an index."""
    before = source.tokens[index - 1] if index else None
    if before is None or before.text in STATEMENT:
        return False
    return before.text in _MADE or before.kind == "name"
