"""A kernel passed to a function that takes a pointer to it.

CUDA overloads ``cudaFuncSetAttribute`` and ``cudaFuncGetAttributes`` for any function pointer;
HIP's take ``const void *`` only, so the kernel is cast.

Example: ``cudaFuncSetAttribute(kernel, attribute, value)`` becomes
``hipFuncSetAttribute((const void *)(kernel), attribute, value)``; the name is PH107's to change.

Limits: a kernel that is already cast stays as it is, whatever it is cast to.

Source: HIP headers, hip_runtime_api.h; CUDA runtime API reference, "Execution Control".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._findings import join_template_arguments, report_rewrite
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH109"

KERNEL_ARGUMENT = {
    "cudaFuncSetAttribute": 0,
    "cudaFuncSetCacheConfig": 0,
    "cudaFuncGetAttributes": 1,
    "hipFuncSetAttribute": 0,
    "hipFuncSetCacheConfig": 0,
    "hipFuncGetAttributes": 1,
}
"""Functions that take a kernel, and which argument it is; HIP's too, for text renamed before."""


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each kernel that is passed."""
    for name, place in KERNEL_ARGUMENT.items():
        yield from report_kernel_arguments(source, CODE, name, place)


def report_kernel_arguments(
    source: KernelSource, code: str, name: str, place: int
) -> Iterator[Finding]:
    """Return a finding for each kernel that a function is called with, at a place."""
    for index in source.names.get(name, ()):
        if not source.is_token(index + 1, "("):
            continue
        arguments = join_template_arguments(source, source.arguments(index + 1) or [])
        if len(arguments) <= place or not arguments[place]:
            continue
        first, last = arguments[place].start, arguments[place].stop - 1
        if source.is_token(first, "reinterpret_cast") or (
            source.is_token(first, "(")
            and source.tokens[first + 1].text in ("const", "void")
            and source.is_token((source.closing(first) or first) - 1, "*")
        ):
            continue
        edits = (
            Edit(source.tokens[first].start, source.tokens[first].start, "(const void *)("),
            Edit(source.tokens[last].end, source.tokens[last].end, ")"),
        )
        yield report_rewrite(
            source,
            code,
            first,
            last,
            edits,
            construct="kernel argument",
            message=f"{name} takes the kernel as const void *",
        )
