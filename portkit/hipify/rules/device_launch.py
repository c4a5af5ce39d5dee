"""A kernel launch from device code (dynamic parallelism).

HIP cannot launch a kernel from a kernel.

Example: ``child<<<1, 32>>>(x);`` inside a ``__global__`` function stays and is reported.

What to do: launch the child from the host after its parent, or make it a device function.

Limits: code in a macro is judged where the macro stands.

Source: HIP Programming Guide, "Unsupported features" (dynamic parallelism).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH207"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each launch in the body of a device function."""
    if "<<<" not in source.text:
        return
    launches = [i for i, token in enumerate(source.tokens) if token.text == "<<<"]
    bodies = list(_device_bodies(source))
    for index in launches:
        if any(index in body for body in bodies):
            yield refused(
                source,
                CODE,
                index,
                index,
                construct="device launch",
                message="a kernel launches a kernel: launch it from the host instead",
            )


def _device_bodies(source: KernelSource) -> Iterator[range]:
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
                yield range(index, _body_end(source, index))
                break


def _body_end(source: KernelSource, opening: int) -> int:
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
