"""A name of the CUDA runtime, driver, RTC, cuRAND or cuBLAS API.

Every name that the API table maps becomes its HIP counterpart: functions, types, enumerators. What
HIP lacks and the prelude has, such as ``cudaLaunchKernelEx``, becomes the prelude's.

Example: ``cudaStream_t stream`` becomes ``hipStream_t stream``.

Limits: names are matched as whole identifiers; a source that declares its own ``cudaX`` of the
same name has it renamed as well, which is consistent within the tree that is translated.

Source: HIPIFY documentation (the tables in ``portkit/vendors/rocm/api``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import renamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH107"

_PREFIXES = (
    (re.compile(r"(__)?cuda[A-Z]|CUDART_|cuda_"), "runtime"),
    (re.compile(r"curand|CURAND_"), "rand"),
    (re.compile(r"cublas|CUBLAS_"), "blas"),
    (re.compile(r"nvrtc|NVRTC_"), "rtc"),
    (re.compile(r"cu[A-Z]|CU[a-z_]|CUDA_[A-Z]"), "driver"),
)


def api_group(name: str) -> str | None:
    """Return the group of the API whose prefix ``name`` carries, None for other names."""
    for prefix, group in _PREFIXES:
        if prefix.match(name):
            return group
    return None


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of a mapped name."""
    for name, uses in source.names.items():
        group = api_group(name)
        if group is None:
            continue
        mapping = api_table.corrections().get(name)
        if mapping is None or mapping.kind != "api":
            mapping = api_table.group(group).get(name)
        if mapping is not None and mapping.hip and mapping.hip != name:
            for index in uses:
                yield renamed(source, CODE, index, mapping.hip, f"{group} API")
