"""A launch attribute of a kernel that HIP lacks and that changes no result.

HIP's ``__launch_bounds__`` takes two numbers. CUDA has a third one, the size of a cluster of
blocks. AMD's GPUs have no clusters. ``__maxnreg__`` limits registers, and AMD's GPUs have others.

Example: ``__launch_bounds__(128, 2, 1)`` becomes ``__launch_bounds__(128, 2)``, and
``__maxnreg__(64)`` goes.

Limits: ``__cluster_dims__`` and ``__block_size__`` change what is launched and are refused (PH201).

Source: CUDA C++ Programming Guide, "Launch Bounds" and "Maximum Number of Registers per Thread";
HIP headers, amd_hip_runtime.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules._findings import find_cuda_uses, join_template_arguments, report_rewrite
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH119"

_BOUNDS: Final = "__launch_bounds__"
_REGISTERS: Final = "__maxnreg__"
_OF_HIP: Final = 2


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such attribute."""
    for name in (_BOUNDS, _REGISTERS):
        for index in find_cuda_uses(source, name):
            found = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            close = source.closing(index + 1)
            if found is None or close is None or source.is_token(index - 1, "#define"):
                continue
            arguments = join_template_arguments(source, found)
            if name == _REGISTERS:
                start, end = source.tokens[index].start, source.tokens[close].end
                message = f"{name} limits NVIDIA's registers and goes"
            elif len(arguments) > _OF_HIP:
                start = source.tokens[arguments[1].stop].start
                end = source.tokens[close].start
                message = f"{name} takes two numbers in HIP: the size of a cluster goes"
            else:
                continue
            edits = (Edit(start, end, ""),)
            yield report_rewrite(
                source, CODE, index, close, edits, construct="launch attribute", message=message
            )
