"""Rules about functions that HIP has as well, with other types or a second time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.rules.queries import find_cuda_uses
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.hipify.scopes import read_function_head, resolve_name
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_DEVICE: Final = frozenset({"__global__", "__device__"})
_BUILTIN: Final = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_UNSIGNED: Final = re.compile(r"unsigned|size_t|uint\w*")
_SIGNED: Final = re.compile(r"int|long|signed|ssize_t|ptrdiff_t|int(?:32|64)_t")

_POINTERS: Final = {
    "atomicAdd": frozenset({"float", "double"}),
    "atomicMax": frozenset({"float", "double"}),
    "atomicMin": frozenset({"float", "double"}),
}
"""Functions of HIP's, by the type that the first parameter points to."""

_NO_PARAMETERS: Final = "__lane_id"


def _find_min_max(source: KernelSource) -> Iterator[Hit]:
    declared: dict[str, dict[int, list[int]]] = {}
    heads: dict[int, list[str]] = {}
    for name in ("min", "max"):
        if name not in source.names or _is_declared(source, name):
            continue
        for index in find_cuda_uses(source, name):
            head = read_function_head(source, index, heads)
            arguments = source.call(index)
            if not head or arguments is None or len(arguments) != 2:
                continue
            if _DEVICE.isdisjoint(head):
                message = f"on the host HIP's {name} is of int alone: write std::{name}<T>"
            elif {_read_sign(source, each, declared) for each in arguments} == {"u", "s"}:
                message = f"HIP compares an unsigned and an int as doubles in {name}: convert one"
            else:
                continue
            yield Hit(index, index, message, applicability=Applicability.REVIEW)


def _is_declared(source: KernelSource, name: str) -> bool:
    """Whether the source has such a function of its own, or of the standard library."""
    if any(source.reads(index - 2, "using", "namespace") for index in source.uses("std")):
        return True
    for index in source.uses(name):
        before = source.texts[index - 1] if index else ""
        if before in ("#define", "T", "int", "float", "double", "auto"):
            return True
        if source.is_token(index - 3, "using"):
            return True
    return False


def _read_sign(
    source: KernelSource, argument: range, declared: dict[str, dict[int, list[int]]]
) -> str | None:
    """Return ``u`` or ``s`` of an argument whose type is plain, else None."""
    texts = source.texts[argument.start : argument.stop]
    if len(texts) == 3 and texts[0] in _BUILTIN:
        return "u"
    if texts[:1] == ["-"] and len(texts) == 2 and texts[1].isdigit():
        return "s"
    if len(texts) != 1:
        return None
    if source.tokens[argument.start].kind == "number":
        return "u" if re.search("[uU]", texts[0]) else "s" if texts[0].isdigit() else None
    if texts[0] not in declared:
        declared[texts[0]] = resolve_name(source, texts[0])
    places = declared[texts[0]].get(argument.start, [])
    types = {_read_type(source, place) for place in places}
    return types.pop() if len(types) == 1 else None


def _read_type(source: KernelSource, index: int) -> str | None:
    before = source.texts[index - 1]
    if _UNSIGNED.fullmatch(before) or source.is_token(index - 2, "unsigned"):
        return "u"
    return "s" if _SIGNED.fullmatch(before) else None


def _find_second_definitions(source: KernelSource) -> Iterator[Hit]:
    for_older = [(b.start, b.end) for b in source.branches if "__CUDA_ARCH__" in b.names]
    for name in (*_POINTERS, _NO_PARAMETERS):
        for index in find_cuda_uses(source, name):
            if any(start <= source.tokens[index].start < end for start, end in for_older):
                continue
            parameters, close = source.call(index), source.closing(index + 1)
            if parameters is None or close is None or not source.is_token(close + 1, "{"):
                continue
            if source.enclosing[index] < 0 and _is_hip_function(source, name, parameters):
                message = (
                    f"HIP has {name} with these parameters, so this is a second definition. Leave"
                    " it out on AMD, or give it another name"
                )
                yield Hit(index, index, message)


def _is_hip_function(source: KernelSource, name: str, parameters: list[range]) -> bool:
    if name == _NO_PARAMETERS:
        return not parameters
    texts = [source.texts[index] for index in parameters[0]] if parameters else []
    return len(parameters) == 2 and "*" in texts and not _POINTERS[name].isdisjoint(texts)


RULES: Final = (
    KernelRule("PH214", "min_max", "min or max", _find_min_max),
    KernelRule("PH218", "own_of_hip", "function of HIP", _find_second_definitions),
)
