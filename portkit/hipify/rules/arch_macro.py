"""``__CUDA_ARCH__``: the feature level that a CUDA source compiles for.

Sources ask it whether half, bfloat16, fp8 or dp4a exist. The prelude's ``HIPX_CUDA_ARCH`` answers
890, the lowest level that has all of them, and like CUDA's it is only defined in the device pass,
so that ``#ifdef`` still tells host from device.

Example: ``#if __CUDA_ARCH__ >= 800`` becomes ``#if HIPX_CUDA_ARCH >= 800``.

Limits: code for tensor cores hides behind the same macro; its gates need a patch of the profile
(3nn) that keeps them off.

Source: CUDA C++ Programming Guide, "Compute Capabilities".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import report_rename

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH103"
MACRO = "__CUDA_ARCH__"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of the macro."""
    new = api_table.load_corrections()[MACRO].hip
    for index in source.names.get(MACRO, ()):
        yield report_rename(source, CODE, index, new, "architecture macro")
