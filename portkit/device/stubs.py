"""Functions that the device does not have: each is there and answers so, by its name.

``api/LIBRARY.txt`` lists what ROCm's library of this name exports (the version scripts and symbol
tables of ROCm 6.4 to 7.2 for the HIP runtime and hipRTC, the headers of 6.4 for the others; of
rocBLAS the common part). What the sources do not define gets a function here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

API: Final = Path(__file__).resolve().parent / "api"

_DEFINED: Final = re.compile(r"\b(?:HIP_EXPORT|API)\b[^;{}()]*?\b(\w+)\(")
_RENAMED: Final = {
    "hipGetDeviceProperties": "hipGetDevicePropertiesR0600",
    "hipChooseDevice": "hipChooseDeviceR0600",
}
"""Names that the header redefines."""

_NOT_SUPPORTED: Final = {
    "amdhip64": "hipErrorNotSupported, 801",
    "rocblas": "rocblas_status_not_implemented, 2",
    "hiprand": "HIPRAND_STATUS_NOT_IMPLEMENTED, 1000",
    "hiprtc": "HIPRTC_ERROR_INTERNAL_ERROR, 11",
}
"""The status of each library, its name and its number."""

_POINTERS: Final = frozenset(
    {"hipApiName", "hipKernelNameRef", "hipKernelNameRefByPtr", "rocblas_status_to_string"}
)
"""Functions that return a pointer and not a status."""


def exported(library: str) -> tuple[str, ...]:
    """Return the names of all functions of a library."""
    return tuple((API / f"{library}.txt").read_text(encoding="utf-8").split())


def defined(sources: Iterable[Path]) -> frozenset[str]:
    """Return the names of the functions that sources define and export."""
    names = (
        name for path in sources for name in _DEFINED.findall(path.read_text(encoding="utf-8"))
    )
    return frozenset(_RENAMED.get(name, name) for name in names)


def stubs(library: str, sources: Iterable[Path]) -> str:
    """Return a C++ source with a function for each that the sources do not define.

    Args:
        library: such as ``amdhip64``.
        sources: of the library.
    """
    there = defined(sources)
    missing = sorted(name for name in exported(library) if name not in there)
    _, number = _NOT_SUPPORTED[library].split(", ")
    lines = [
        'extern "C" __attribute__((visibility("default"))) int hipcpu_not_supported(',
        "    const char *function, int status);",
        '#define STUB extern "C" __attribute__((visibility("default")))',
    ]
    for name in missing:
        status = f'hipcpu_not_supported("{name}", {number})'
        if name in _POINTERS:
            lines.append(f"STUB void *{name}() {{ {status}; return nullptr; }}")
        else:
            lines.append(f"STUB int {name}() {{ return {status}; }}")
    return "\n".join(lines) + "\n"
