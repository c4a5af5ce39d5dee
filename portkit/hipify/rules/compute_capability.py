"""The compute capability that the host asks a device for.

HIP answers with the number of the architecture, as 11.0 for gfx1100 and 9.0 for gfx90a, which says
nothing of what a GPU of NVIDIA's with that number has. Nothing is written.

Example: ``if (properties.major >= 8)`` stays and is for review, and so is
``cudaDevAttrComputeCapabilityMajor``.

What to do: decide by what is needed, as the size of shared memory, or by ``gcnArchName``.

Limits: a member is known of a variable that the same file declares as ``cudaDeviceProp``.

Source: CUDA Runtime API, ``cudaDeviceProp``; HIP Runtime API, ``hipDeviceProp_t``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.rules._findings import find_cuda_uses, report_manual
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH216"

_TYPES: Final = ("cudaDeviceProp", "hipDeviceProp_t")
_MEMBERS: Final = ("major", "minor")
_NAMES: Final = (
    "cudaDevAttrComputeCapabilityMajor",
    "cudaDevAttrComputeCapabilityMinor",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "cuDeviceComputeCapability",
)


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each member, attribute and call."""
    found = [index for name in _NAMES for index in find_cuda_uses(source, name)]
    variables = {
        source.texts[_skip_qualifiers(source, index + 1)]
        for name in _TYPES
        for index in source.names.get(name, ())
        if index + 1 < len(source.texts)
    }
    found += [
        index
        for name in _MEMBERS
        for index in source.names.get(name, ())
        if source.tokens[index - 1].text in (".", "->") and source.texts[index - 2] in variables
    ]
    for index in found:
        message = (
            f"{source.texts[index]}: HIP answers with the number of AMD's architecture. A"
            " comparison with NVIDIA's numbers decides something else. Decide by what is needed"
        )
        finding = report_manual(
            source, CODE, index, index, construct="compute capability", message=message
        )
        yield replace(finding, applicability=Applicability.REVIEW)


def _skip_qualifiers(source: KernelSource, index: int) -> int:
    while source.texts[index] in ("&", "*", "const") and index + 1 < len(source.texts):
        index += 1
    return index
