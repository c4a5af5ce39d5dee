"""A lock that lanes of a wavefront wait for in a loop.

Since Volta the lanes of a CUDA warp advance on their own, so that the lane that has the lock gives
it back while others wait. On AMD the lanes of a wavefront run in one step: those that wait keep the
one that has the lock from going on, and the kernel hangs. Nothing is written.

Example: ``while (atomicCAS(lock, 0, 1) != 0) {}`` stays and is reported.

What to do: let one lane of a block take the lock, or do the work inside the loop, in the branch of
the lane that got the lock.

Limits: a lock is known by an atomic function with constant values in the condition of a loop. A
loop that waits for a flag is not.

Source: CUDA C++ Programming Guide, "Independent Thread Scheduling"; HIP Programming Guide, "Warp
synchronization".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules._findings import find_cuda_uses, report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH217"

_LOCKS: Final = ("atomicCAS", "atomicCAS_block", "atomicExch")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such loop."""
    for name in _LOCKS:
        for index in find_cuda_uses(source, name):
            arguments = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            if not arguments or not all(_is_number(source, each) for each in arguments[1:]):
                continue
            if _is_condition_of_loop(source, index):
                message = (
                    f"{name} is a lock that this loop waits for. Lanes of one wavefront that wait"
                    " for each other hang on AMD. Let one lane take it, or do the work in the loop"
                )
                yield report_manual(
                    source, CODE, index, index, construct="spin lock", message=message
                )


def _is_number(source: KernelSource, argument: range) -> bool:
    return len(argument) == 1 and source.tokens[argument.start].kind == "number"


def _is_condition_of_loop(source: KernelSource, index: int) -> bool:
    around = source.enclosing[index]
    while around > 0 and source.texts[around] == "(":
        if source.texts[around - 1] == "while":
            return True
        around = source.enclosing[around]
    return False
