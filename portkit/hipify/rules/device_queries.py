"""Rules about numbers that the host asks a device for and that HIP answers otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules.queries import MEMBER, find_cuda_uses
from portkit.hipify.rules.renames import WARP_SIZE, find_qualified
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_WARP_SIZES: Final = ("cudaDevAttrWarpSize", "CU_DEVICE_ATTRIBUTE_WARP_SIZE")
_PROPERTIES: Final = ("cudaDeviceProp", "hipDeviceProp_t")
_CAPABILITIES: Final = (
    "cudaDevAttrComputeCapabilityMajor",
    "cudaDevAttrComputeCapabilityMinor",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "cuDeviceComputeCapability",
)


def _find_warp_sizes(source: KernelSource) -> Iterator[Hit]:
    builtin = set(find_qualified(source))
    found = [
        index
        for index in source.uses(WARP_SIZE)
        if index and index not in builtin and source.texts[index - 1] in MEMBER
    ]
    for index in (*found, *(i for name in _WARP_SIZES for i in source.uses(name))):
        message = (
            f"{source.texts[index]}: HIP returns the size of the wavefront, 32 or 64. Pass 32 to a"
            " translated kernel, which uses logical warps of 32 lanes"
        )
        yield Hit(index, index, message)


def _find_compute_capabilities(source: KernelSource) -> Iterator[Hit]:
    found = [index for name in _CAPABILITIES for index in find_cuda_uses(source, name)]
    variables = {
        source.texts[_skip_qualifiers(source, index + 1)]
        for name in _PROPERTIES
        for index in source.uses(name)
        if index + 1 < len(source.texts)
    }
    found += [
        index
        for name in ("major", "minor")
        for index in source.uses(name)
        if source.texts[index - 1] in (".", "->") and source.texts[index - 2] in variables
    ]
    for index in found:
        message = (
            f"{source.texts[index]}: HIP answers with the number of AMD's architecture. A"
            " comparison with NVIDIA's numbers decides something else. Decide by what is needed"
        )
        yield Hit(index, index, message, applicability=Applicability.REVIEW)


def _skip_qualifiers(source: KernelSource, index: int) -> int:
    while source.texts[index] in ("&", "*", "const") and index + 1 < len(source.texts):
        index += 1
    return index


RULES: Final = (
    KernelRule("PH211", "device_warp_size", "warp size of a device", _find_warp_sizes),
    KernelRule("PH216", "compute_capability", "compute capability", _find_compute_capabilities),
)
