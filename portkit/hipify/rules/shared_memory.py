"""The rule about more shared memory than AMD's GPUs have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules.constants import Constants
from portkit.hipify.rules.queries import find_cuda_uses, join_template_arguments
from portkit.hipify.rules.rule import Hit, KernelRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_MOST: Final = 64 * 1024
_ATTRIBUTES: Final = (
    "cudaFuncAttributeMaxDynamicSharedMemorySize",
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
)
_LIMIT: Final = (
    "A block has 64 KiB of shared memory on AMD's GPUs but gfx950. A launch with more fails. Use"
    " smaller tiles there"
)


def _find(source: KernelSource) -> Iterator[Hit]:
    constants = Constants(source)
    for index, size in (*_find_requests(source), *_find_launches(source)):
        bytes_ = constants.find_largest(size)
        if bytes_ is not None and bytes_ > _MOST:
            yield Hit(index, index, f"this requests {bytes_} bytes of shared memory. {_LIMIT}")


def _find_requests(source: KernelSource) -> Iterator[tuple[int, range]]:
    """Yield each attribute that raises the limit of a kernel, and the expression of its value."""
    for name in _ATTRIBUTES:
        for index in find_cuda_uses(source, name):
            around = source.enclosing[index]
            if around < 0 or not source.is_token(around, "("):
                continue
            arguments = join_template_arguments(source, source.arguments(around) or [])
            if len(arguments) == 3 and index in arguments[1]:
                yield index, arguments[2]


def _find_launches(source: KernelSource) -> Iterator[tuple[int, range]]:
    """Yield each launch that names a size of shared memory, and the expression of the size."""
    for index in (i for i, text in enumerate(source.texts) if text == "<<<"):
        if size := _read_third(source, index):
            yield index, size


_ENDS: Final = frozenset({">>>", ";", "{", "}", ")", "]"})
"""Where no argument between launch brackets goes on."""


def _read_third(source: KernelSource, index: int) -> range:
    """Return the third argument between launch brackets, empty without one."""
    commas: list[int] = []
    at = index + 1
    while at < len(source.texts) and source.texts[at] not in _ENDS:
        if source.texts[at] == ">" and source.reads(at, ">", ">", ">"):
            break
        if source.texts[at] == ",":
            commas.append(at)
        at = (source.closing(at) or at) + 1
    if len(commas) < 2:
        return range(0)
    return range(commas[1] + 1, commas[2] if len(commas) > 2 else at)


RULES: Final = (KernelRule("PH221", "shared_memory", "shared memory", _find),)
