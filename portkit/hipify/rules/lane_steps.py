"""The rule about warps of more than 32 lanes, and the integer constants that tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import list_corrections
from portkit.hipify.preprocessor_conditions import (
    find_amd_excluded,
    find_amd_only,
    find_cuda_only,
    is_within,
)
from portkit.hipify.preprocessor_expressions import evaluate_expression
from portkit.hipify.rules.queries import find_cuda_uses
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.scopes import resolve_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.hipify.kernel_source import KernelSource

_WARP: Final = 32
_STEPPED: Final = ("shfl_up", "shfl_down", "shfl_xor")
_LESS: Final = frozenset({"<", "<="})
_ENDS: Final = frozenset({";", ",", ")", "}", ">"})


def _find_lane_steps(source: KernelSource) -> Iterator[Hit]:
    constants = _Constants(source)
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


def _find_definitions(source: KernelSource, constants: _Constants) -> Iterator[Hit]:
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


def _find_step(source: KernelSource, constants: _Constants, argument: range) -> int:
    """Return the largest known step of 32 or more, 0 without one."""
    step = constants.find_largest(argument)
    if step is None or step < _WARP:
        step = _find_loop_step(source, constants, argument)
    return step if step >= _WARP else 0


def _find_loop_step(source: KernelSource, constants: _Constants, argument: range) -> int:
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


class _Constants:
    """The values of one source; each name and each definition is read once."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._excluded = find_amd_excluded(source)
        self._declared: dict[str, dict[int, list[int]]] = {}
        self._values: dict[int, int | None] = {}

    def find_largest(self, tokens: Sequence[int]) -> int | None:
        """Return the largest value that an expression may have, None if it is not known."""
        texts = self._source.texts
        places = {texts[index]: index for index in tokens}
        text = " ".join(texts[index] for index in tokens)

        def value(name: str) -> int | None:
            known = (self.find_value(index) for index in self.find_definitions(places[name]))
            return max((number for number in known if number is not None), default=None)

        return evaluate_expression(text, lambda _: None, value)

    def find_definitions(self, index: int) -> list[int]:
        """Return the declarations that a name may mean for AMD's compiler."""
        name = self._source.texts[index]
        if name not in self._declared:
            self._declared[name] = resolve_name(self._source, name)
        return [
            place
            for place in self._declared[name].get(index, ())
            if not is_within(self._excluded, self._source.tokens[place].start)
        ]

    def find_value(self, index: int) -> int | None:
        """Return the value that a macro or a variable begins with, None if it is not known."""
        if index not in self._values:
            self._values[index] = None  # what is defined by itself has no value
            tokens = self._read_value(index)
            self._values[index] = self.find_largest(tokens) if tokens else None
        return self._values[index]

    def _read_value(self, index: int) -> range:
        source = self._source
        end = index + 1
        if source.is_token(index - 1, "#define"):
            line = source.line(source.tokens[index].start)
            while end < len(source.tokens) and source.line(source.tokens[end].start) == line:
                end += 1
            return range(index + 1, end)
        if not source.is_token(end, "="):
            return range(0)
        while end < len(source.tokens) and source.texts[end] not in _ENDS:
            end = (source.closing(end) or end) + 1
        return range(index + 2, end)


RULES: Final = (KernelRule("PH215", "lane_step", "lane step", _find_lane_steps),)
