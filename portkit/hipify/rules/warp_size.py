"""``warpSize`` in a kernel: 32 on every NVIDIA GPU.

HIP's is the size of the wavefront, 32 or 64 by architecture, while what portkit writes counts
logical warps of 32 lanes: a kernel that mixes the two computes something else on a GPU with
wavefronts of 64 lanes.

Example: ``threadIdx.x % warpSize`` becomes ``threadIdx.x % hipx::warp_size``.

Limits: a use that sees a variable, parameter, member or macro of that name in the same file means
that and stays as it is; so does code that only AMD's compiler reads. A declaration in a header is
not seen. PH211 reports ``properties.warpSize``, which the host asks a device for.

Source: CUDA C++ Programming Guide, "Built-in Variables" and "Compute Capabilities"; HIP C++
language extensions, "warpSize".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import find_cuda_uses, report_rename
from portkit.hipify.scopes import resolve_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH112"

NAME = "warpSize"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use."""
    if NAME in source.own or NAME not in source.names:
        return
    own = resolve_name(source, NAME)
    uses = [i for i in find_cuda_uses(source, NAME) if i not in own]
    for index in (*uses, *find_qualified(source)):
        if not source.is_token(index - 1, "#undef"):
            yield report_rename(
                source, CODE, index, api_table.load_corrections()[NAME].hip, "size of a warp"
            )


def find_qualified(source: KernelSource) -> Iterator[int]:
    """Yield each use as ``::warpSize``."""
    for index in source.names.get(NAME, ()):
        if source.is_token(index - 1, "::"):
            before = source.tokens[index - 2] if index > 1 else None
            if before is None or (before.kind != "name" and before.text != ">"):
                yield index
