"""Rules about the arguments of calls: of the runtime, of kernels, of launch attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from portkit.hipify.rules.queries import find_cuda_uses, join_template_arguments
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.hipify.kernel_source import KernelSource


class _Counterpart(NamedTuple):
    hip: str
    added: str = ""


_CALLS: Final = {
    ("cudaGraphInstantiate", 2): _Counterpart("hipGraphInstantiateWithFlags", ", 0"),
    ("cudaGraphInstantiate", 3): _Counterpart("hipGraphInstantiateWithFlags"),
    ("cudaLaunchCooperativeKernel", 4): _Counterpart("hipLaunchCooperativeKernel", ", 0, 0"),
    ("cudaLaunchCooperativeKernel", 5): _Counterpart("hipLaunchCooperativeKernel", ", 0"),
    ("cudaGraphExecUpdate", 3): None,
}
"""The function of HIP by a function of CUDA and its number of arguments."""

_REPLACEMENTS: Final = (
    "cudaGraphExecUpdate has three arguments here, and hipGraphExecUpdate takes four: pass a"
    " hipGraphNode_t * and a hipGraphExecUpdateResult * in place of the last"
)

_LAUNCHES: Final = (
    ("cudaLaunchKernel", 0),
    ("cudaFuncSetSharedMemConfig", 0),
    ("hipLaunchKernel", 0),
    ("hipFuncSetSharedMemConfig", 0),
)
KERNEL_ARGUMENT: Final = {
    "cudaFuncSetAttribute": 0,
    "cudaFuncSetCacheConfig": 0,
    "cudaFuncGetAttributes": 1,
    "hipFuncSetAttribute": 0,
    "hipFuncSetCacheConfig": 0,
    "hipFuncGetAttributes": 1,
}
"""The index of the kernel among a function's arguments; HIP's too, for text renamed before."""

_BOUNDS: Final = "__launch_bounds__"
_REGISTERS: Final = "__maxnreg__"
_HIP_BOUNDS: Final = 2


def _find_changed_calls(source: KernelSource) -> Iterator[Hit]:
    for hit in _cast_kernels(source, _LAUNCHES):
        yield hit._replace(construct="kernel argument")
    for index, arguments, new in find_api_calls(source):
        last = arguments[-1].stop
        if new is None:
            yield Hit(index, last, _REPLACEMENTS)
            continue
        token, end = source.tokens[index], source.tokens[last].start
        edits = [Edit(token.start, token.end, new.hip)]
        if new.added:
            edits.append(Edit(end, end, new.added))
        message = f"{token.text} with {len(arguments)} arguments becomes {new.hip}"
        yield Hit(index, last, message, tuple(edits))


def find_api_calls(
    source: KernelSource,
) -> Iterator[tuple[int, list[range], _Counterpart | None]]:
    """Yield the name, the arguments and the counterpart of each call that changes with them."""
    for name in dict.fromkeys(name for name, _ in _CALLS):
        for index in source.uses(name):
            arguments = join_template_arguments(source, source.call(index) or [])
            if (name, len(arguments)) in _CALLS:
                yield index, arguments, _CALLS[name, len(arguments)]


def _find_kernel_arguments(source: KernelSource) -> Iterator[Hit]:
    return _cast_kernels(source, KERNEL_ARGUMENT.items())


def _cast_kernels(source: KernelSource, functions: Iterable[tuple[str, int]]) -> Iterator[Hit]:
    for name, place in functions:
        for index in source.uses(name):
            arguments = join_template_arguments(source, source.call(index) or [])
            if len(arguments) <= place or not arguments[place]:
                continue
            first, last = arguments[place].start, arguments[place].stop - 1
            if source.is_token(first, "reinterpret_cast") or (
                source.is_token(first, "(")
                and source.texts[first + 1] in ("const", "void")
                and source.is_token((source.closing(first) or first) - 1, "*")
            ):
                continue
            start, end = source.tokens[first].start, source.tokens[last].end
            edits = (Edit(start, start, "(const void *)("), Edit(end, end, ")"))
            yield Hit(first, last, f"{name} takes the kernel as const void *", edits)


def _find_launch_attributes(source: KernelSource) -> Iterator[Hit]:
    for name in (_BOUNDS, _REGISTERS):
        for index in find_cuda_uses(source, name):
            found, close = source.call(index), source.closing(index + 1)
            if found is None or close is None or source.is_token(index - 1, "#define"):
                continue
            arguments = join_template_arguments(source, found)
            if name == _REGISTERS:
                start, end = source.tokens[index].start, source.tokens[close].end
                message = f"{name} limits NVIDIA's registers and goes"
            elif len(arguments) > _HIP_BOUNDS:
                start = source.tokens[arguments[1].stop].start
                end = source.tokens[close].start
                message = f"{name} takes two numbers in HIP: the size of a cluster goes"
            else:
                continue
            yield Hit(index, close, message, (Edit(start, end, ""),))


RULES: Final = (
    KernelRule("PH109", "kernel_attribute", "kernel argument", _find_kernel_arguments),
    KernelRule("PH118", "api_call", "API call", _find_changed_calls),
    KernelRule("PH119", "launch_hint", "launch attribute", _find_launch_attributes),
)
