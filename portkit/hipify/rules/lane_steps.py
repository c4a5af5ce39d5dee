"""The rule about warps of more than 32 lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import list_corrections
from portkit.hipify.preprocessor_conditions import (
    find_amd_only,
    find_cuda_only,
    is_within,
)
from portkit.hipify.rules.constants import Constants
from portkit.hipify.rules.queries import find_cuda_uses
from portkit.hipify.rules.rule import Hit, KernelRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_WARP: Final = 32
_STEPPED: Final = ("shfl_up", "shfl_down", "shfl_xor")
_LESS: Final = frozenset({"<", "<="})


def _find_lane_steps(source: KernelSource) -> Iterator[Hit]:
    constants = Constants(source)
    yield from _find_definitions(source, constants)
    cuda = find_cuda_only(source)
    for mapping in list_corrections("warp", "unmasked"):
        name, function = mapping.cuda, mapping.hip.removeprefix("hipx::")
        if name not in source.names or not function.startswith("shfl"):
            continue
        for index in find_cuda_uses(source, name):
            arguments = source.call(index)
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
            yield Hit(index, index, message)


def _find_definitions(source: KernelSource, constants: Constants) -> Iterator[Hit]:
    """Yield a hit for each name that is 64 for AMD and 32 for CUDA."""
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
            yield Hit(index, index, message)


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


RULES: Final = (KernelRule("PH215", "lane_step", "lane step", _find_lane_steps),)
