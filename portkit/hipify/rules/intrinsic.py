"""A device intrinsic that takes the same arguments under another name.

dp4a and the intrinsics on the bytes of a word are the prelude's, with AMD's dot product
instructions where the hardware has them; ``__trap`` is clang's builtin.

Example: ``__dp4a(a, b, c)`` becomes ``hipx::dp4a(a, b, c)``.

Limits: byte intrinsics that the table lacks are refused as unknown names. Code that only AMD's
compiler reads stays.

Source: CUDA Math API, "SIMD Intrinsics"; LLVM AMDGPU backend, sdot4 and sudot4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import drop_amd_uses, report_rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH106"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use."""
    for name, mapping in api_table.load_corrections().items():
        if mapping.kind == "intrinsic":
            for index in drop_amd_uses(source, source.names.get(name, ())):
                yield report_rename(source, CODE, index, mapping.hip, "intrinsic")
