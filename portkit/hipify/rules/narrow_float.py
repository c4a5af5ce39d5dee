"""A type or conversion of bfloat16 or fp8.

bfloat16 becomes HIP's ``__hip_bfloat16``, whose functions carry CUDA's names. fp8 becomes the
prelude's OCP classes: HIP's converters to the OCP encoding trap on gfx940 to gfx942, and the
``fnuz`` types that other tools choose are another encoding.

Example: ``__nv_bfloat16 x`` becomes ``__hip_bfloat16 x``. Where a source declares the name itself
(``typedef __hip_bfloat16 __nv_bfloat16;``), the declaration stays.

Limits: fp4 and fp6 are refused as unknown names.

Source: HIP headers amd_hip_bf16.h and amd_hip_fp8.h; OCP 8-bit Floating Point Specification 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import report_rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH104"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of such a name."""
    for name, mapping in api_table.load_corrections().items():
        if mapping.kind in ("bfloat16", "fp8"):
            for index in source.names.get(name, ()):
                if not _is_alias(source, index):
                    yield report_rename(source, CODE, index, mapping.hip, mapping.kind)


def _is_alias(source: KernelSource, index: int) -> bool:
    """Whether a typedef or an alias declares the name here; its uses need no such name any more."""
    if source.is_token(index - 1, "using") and source.is_token(index + 1, "="):
        return True
    if not source.is_token(index + 1, ";"):
        return False
    for position in range(index - 1, -1, -1):
        text = source.tokens[position].text
        if text in ("typedef", ";", "{", "}"):
            return text == "typedef"
    return False
