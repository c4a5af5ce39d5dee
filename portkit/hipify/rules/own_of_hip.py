"""A function that the source defines and HIP has as well.

HIP declares some device functions that CUDA lacks, with the same name and parameters. A definition
of the source's own is then a second one. Nothing is written.

Example: ``__device__ float atomicMax(float *address, float value) { .. }`` stays and is reported.

What to do: leave the definition out on AMD, ``#if !defined(__HIP_PLATFORM_AMD__)``, if HIP's does
the same, else give it another name.

Limits: a definition in a namespace or a class is another function and is not reported. Nor is one
under a condition on ``__CUDA_ARCH__``: it is for older GPUs of NVIDIA, and AMD's compiler skips it.

Source: HIP headers, amd_hip_atomic.h and amd_device_functions.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_branches
from portkit.hipify.rules._findings import find_cuda_uses, report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH218"

_POINTERS: Final = {
    "atomicAdd": frozenset({"float", "double"}),
    "atomicMax": frozenset({"float", "double"}),
    "atomicMin": frozenset({"float", "double"}),
}
"""Functions of HIP's, by the type that the first parameter points to."""

_NO_PARAMETERS: Final = "__lane_id"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such definition."""
    for_older = [(b.start, b.end) for b in find_branches(source) if "__CUDA_ARCH__" in b.names]
    for name in (*_POINTERS, _NO_PARAMETERS):
        for index in find_cuda_uses(source, name):
            if any(start <= source.tokens[index].start < end for start, end in for_older):
                continue
            parameters = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            close = source.closing(index + 1)
            if parameters is None or close is None or not source.is_token(close + 1, "{"):
                continue
            if source.enclosing[index] >= 0 or not _is_hip_function(source, name, parameters):
                continue
            message = (
                f"HIP has {name} with these parameters, so this is a second definition. Leave it"
                " out on AMD, or give it another name"
            )
            yield report_manual(
                source, CODE, index, index, construct="function of HIP", message=message
            )


def _is_hip_function(source: KernelSource, name: str, parameters: list[range]) -> bool:
    if name == _NO_PARAMETERS:
        return not parameters
    texts = [source.texts[index] for index in parameters[0]] if parameters else []
    return len(parameters) == 2 and "*" in texts and not _POINTERS[name].isdisjoint(texts)
