"""Functions that the device does not have: each is there and answers so, by its name.

``api/LIBRARY.txt`` lists what ROCm's library of this name exports (the version scripts and symbol
tables of ROCm 6.4 to 7.2 for the HIP runtime and hipRTC, the headers of 6.4 for the others; of
rocBLAS the common part). Each gets a weak function here, which a real one of the sources replaces
when the library is linked.
"""

from __future__ import annotations

from typing import Final

from portkit.shipped import shipped

HOME: Final = "device"
"""The folder with the device's own sources."""

_NOT_SUPPORTED: Final = {
    "amdhip64": 801,  # hipErrorNotSupported
    "rocblas": 2,  # rocblas_status_not_implemented
    "hipblaslt": 7,  # HIPBLAS_STATUS_NOT_SUPPORTED
    "hiprand": 1000,  # HIPRAND_STATUS_NOT_IMPLEMENTED
    "rccl": 5,  # ncclInvalidUsage
    "MIOpen": 6,  # miopenStatusNotImplemented
    "hiprtc": 11,  # HIPRTC_ERROR_INTERNAL_ERROR
}

_POINTERS: Final = frozenset(
    {
        "hipApiName",
        "hipKernelNameRef",
        "hipKernelNameRefByPtr",
        "hiprtcGetErrorString",
        "miopenGetErrorString",
        "ncclGetErrorString",
        "ncclGetLastError",
        "rocblas_status_to_string",
    }
)
"""Functions that return a pointer and not a status."""


def read_exported_names(library: str) -> tuple[str, ...]:
    """Return the names of all functions of a library, such as ``amdhip64``."""
    return tuple((shipped(HOME) / "api" / f"{library}.txt").read_text(encoding="utf-8").split())


def render_stubs(library: str) -> str:
    """Return a C++ source with a weak function for each of a library."""
    lines = [
        'extern "C" int hipcpu_not_supported(const char *function, int status);',
        '#define STUB extern "C" __attribute__((visibility("default"), weak))',
    ]
    for name in read_exported_names(library):
        status = f'hipcpu_not_supported("{name}", {_NOT_SUPPORTED[library]})'
        if name in _POINTERS:
            lines.append(f"STUB const void *{name}() {{ {status}; return nullptr; }}")
        else:
            lines.append(f"STUB int {name}() {{ return {status}; }}")
    return "\n".join(lines) + "\n"
