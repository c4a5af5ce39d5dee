"""A warp of more than 32 lanes in translated code.

Translated warp functions work on logical warps of 32 lanes, on each AMD GPU. Code that has 64
lanes on AMD, as ``#define WARP_SIZE 64`` under ``USE_ROCM``, then moves a value by 32 lanes or
more, which leaves the warp. Nothing is written.

Example: ``__shfl_xor_sync(0xffffffff, x, m)`` in ``for (int m = WARP_SIZE / 2; m > 0; m >>= 1)`` is
reported where ``WARP_SIZE`` may be 64, and so is the definition that gives AMD 64 and CUDA 32.

What to do: write 32 for AMD too. Or give AMD a branch of its own, which counts 64 lanes with HIP's
functions.

Limits: values are known of numbers, and of macros and constants of the same file. A definition in a
header is reported in the header.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions"; HIP C++ language extensions,
"warpSize".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify import api_table
from portkit.hipify.integer_constants import Constants
from portkit.hipify.preprocessor_conditions import find_amd_only, find_cuda_only, is_within
from portkit.hipify.rules._findings import find_cuda_uses, report_manual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH215"

_WARP: Final = 32
_STEPPED: Final = ("shfl_up", "shfl_down", "shfl_xor")
_LESS: Final = frozenset({"<", "<="})


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each such call and each such definition."""
    constants = Constants(source)
    yield from _find_definitions(source, constants)
    cuda = find_cuda_only(source)
    for name, mapping in api_table.load_corrections().items():
        function = mapping.hip.removeprefix("hipx::")
        if mapping.kind not in ("warp", "unmasked") or not function.startswith("shfl"):
            continue
        for index in find_cuda_uses(source, name):
            arguments = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            if arguments is None or is_within(cuda, source.tokens[index].start):
                continue
            first = 2 if mapping.kind == "warp" else 1
            step, width = arguments[first : first + 1], arguments[first + 1 : first + 2]
            if step and function in _STEPPED and (lanes := _find_step(source, constants, step[0])):
                fact = f"{name} may move a value by {lanes} lanes"
            elif width and (constants.find_largest(width[0]) or 0) > _WARP:
                fact = f"{name} may have a width of more than 32 lanes"
            else:
                continue
            message = f"{fact}. A warp of translated code has 32. Write it for 32 lanes"
            yield report_manual(source, CODE, index, index, construct="lane step", message=message)


def _find_definitions(source: KernelSource, constants: Constants) -> Iterator[Finding]:
    """Return a finding for each name that is 64 for AMD and 32 for CUDA."""
    amd = find_amd_only(source)
    if not amd:
        return
    for index, token in enumerate(source.tokens):
        if not _is_definition(source, index) or not is_within(amd, token.start):
            continue
        others = [
            place
            for place in find_cuda_uses(source, token.text)
            if _is_definition(source, place) and constants.find_value(place) == _WARP
        ]
        if others and constants.find_value(index) == 2 * _WARP:
            message = (
                f"{token.text} is 64 for AMD and 32 for CUDA. A warp of translated code has 32"
                " lanes. Write 32 where such code uses it"
            )
            yield report_manual(source, CODE, index, index, construct="lane step", message=message)


def _is_definition(source: KernelSource, index: int) -> bool:
    if source.tokens[index].kind != "name":
        return False
    return source.is_token(index - 1, "#define") or (
        source.is_token(index + 1, "=") and source.tokens[index - 1].kind == "name"
    )


def _find_step(source: KernelSource, constants: Constants, argument: range) -> int:
    """Return the largest known step of 32 or more, 0 without one."""
    step = constants.find_largest(argument)
    if step is None or step < _WARP:
        step = _find_loop_step(source, constants, argument)
    return step if step >= _WARP else 0


def _find_loop_step(source: KernelSource, constants: Constants, argument: range) -> int:
    """Return the largest step of a loop such as ``for (m = 1; m < 64; m *= 2)``."""
    if len(argument) != 1:
        return 0
    name = source.texts[argument.start]
    for place in constants.find_definitions(argument.start):
        around = source.enclosing[place]
        if around < 1 or not source.is_token(around - 1, "for"):
            continue
        for index in range(place, source.closing(around) or place):
            if source.texts[index] == name and source.texts[index + 1] in _LESS:
                end = index + 2
                while source.texts[end] not in (";", ")", "&&"):
                    end += 1
                if (constants.find_largest(range(index + 2, end)) or 0) > _WARP:
                    return _WARP
    return 0
