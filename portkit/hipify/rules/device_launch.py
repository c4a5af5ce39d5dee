"""A kernel launch or a call of the runtime from device code (dynamic parallelism).

HIP cannot launch a kernel from a kernel, and its runtime's functions are the host's.

Example: ``child<<<1, 32>>>(x);`` inside a ``__global__`` function stays and is reported, and so is
``cudaDeviceSynchronize()`` there.

What to do: launch the child from the host after its parent, or make it a device function. Move
calls of the runtime to the host.

Limits: code in a macro is judged where the macro stands.

Source: HIP Programming Guide, "Unsupported features" (dynamic parallelism).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.preprocessor_conditions import is_within
from portkit.hipify.rules._findings import report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH207"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each launch and call in the body of a device function."""
    calls = [
        index
        for name, uses in source.names.items()
        if _is_host_function(name)
        for index in uses
        if source.is_token(index + 1, "(")
    ]
    if "<<<" not in source.text and not calls:
        return
    launches = [i for i, token in enumerate(source.tokens) if token.text == "<<<"]
    bodies: list[tuple[int, int]] = []
    for body in sorted(_find_device_bodies(source), key=lambda body: body.start):
        if not bodies or body.start >= bodies[-1][1]:
            bodies.append((body.start, body.stop))
    for index in launches:
        if is_within(bodies, index):
            message = "a kernel launches a kernel: launch it from the host instead"
            yield report_manual(
                source, CODE, index, index, construct="device launch", message=message
            )
    for index in calls:
        if is_within(bodies, index):
            message = (
                f"{source.texts[index]} is called in device code. HIP has it on the host only."
                " Call it from the host"
            )
            yield report_manual(
                source, CODE, index, index, construct="host function", message=message
            )


def _is_host_function(name: str) -> bool:
    """Whether a name is a function of CUDA's runtime that HIP's host has."""
    known = api_table.find_api_name(name)
    return (
        known is not None
        and known[0] == "runtime"
        and known[1].kind == "function"
        and known[1].hip.startswith("hip")
        and not known[1].hip.startswith("hipx")
    )


def _find_device_bodies(source: KernelSource) -> Iterator[range]:
    """Return the token ranges of the bodies of functions that run on the device only."""
    marks = (*source.names.get("__global__", ()), *source.names.get("__device__", ()))
    for mark in marks:
        if source.is_token(mark - 1, "__host__") or source.is_token(mark + 1, "__host__"):
            continue
        for index in range(mark, len(source.tokens)):
            text = source.tokens[index].text
            if text == ";":
                break
            if text == "{":
                yield range(index, _find_body_end(source, index))
                break


def _find_body_end(source: KernelSource, opening: int) -> int:
    """Return where a function's body ends: its bracket, or the first in the first column.

    Branches of the preprocessor can open more brackets than they close; the first column tells.
    """
    close = source.closing(opening)
    end = close if close is not None else len(source.tokens)
    for index in range(opening, end):
        token = source.tokens[index]
        if token.text == "}" and source.text[token.start - 1] == "\n":
            return index
    return end
