"""A name of the CUDA runtime, driver, RTC, cuRAND, cuBLAS or cuComplex API, or a CUB macro.

Every name that the API table maps becomes its HIP counterpart: functions, types, enumerators. What
HIP lacks and the prelude has, such as ``cudaLaunchKernelEx``, becomes the prelude's.

Example: ``cudaStream_t stream`` becomes ``hipStream_t stream``.

Limits: names are matched as whole identifiers; a source that declares its own ``cudaX`` of the
same name has it renamed as well, which is consistent within the tree that is translated.

Source: HIPIFY documentation (the tables in ``portkit/vendors/rocm/api``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules import api_call
from portkit.hipify.rules._findings import report_rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH107"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of a mapped name."""
    called = {index for index, _, _ in api_call.find_calls(source)}
    for name, uses in source.names.items():
        known = api_table.find_api_name(name)
        if known is None:
            continue
        group, mapping = known
        if mapping.hip and mapping.hip != name:
            for index in uses:
                if index not in called:
                    yield report_rename(source, CODE, index, mapping.hip, f"{group} API")
