"""Rules about parts of CUB that count the lanes of a wavefront on AMD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules.queries import drop_amd_uses
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.syntax.cxx_tokens import CLOSING, OPENING
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from portkit.hipify.kernel_source import KernelSource

_PRIMITIVES: Final = {
    "WarpReduce": 1,
    "WarpScan": 1,
    "WarpExchange": 2,
    "WarpMergeSort": 2,
    "WarpLoad": 3,
    "WarpStore": 3,
}
"""The templates, and how many arguments come before the number of lanes."""

_NAMESPACES: Final = ("cub", "hipcub")

_FUNCTIONS: Final = {
    "LaneId": "write `(__lane_id() & 31u)`",
    "WarpId": "write `(threadIdx.x / 32u)` in a block of one dimension",
    "LaneMaskLt": "write `((1u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskLe": "write `((2u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskGt": "write `~((2u << (__lane_id() & 31u)) - 1u)`",
    "LaneMaskGe": "write `~((1u << (__lane_id() & 31u)) - 1u)`",
    "WarpMask": "write a mask of 32 bits",
    "ShuffleUp": "write `hipx::shfl_up`",
    "ShuffleDown": "write `hipx::shfl_down`",
    "ShuffleIndex": "write `hipx::shfl`",
    "MatchAny": "write a loop over `hipx::ballot`",
    "WARP_SYNC": "write `hipx::syncwarp`",
    "WARP_ANY": "write `hipx::any`",
    "WARP_ALL": "write `hipx::all`",
    "WARP_BALLOT": "write `hipx::ballot`",
    "LoadDirectWarpStriped": "write the loads with a stride of 32",
    "StoreDirectWarpStriped": "write the stores with a stride of 32",
}
_METHODS: Final = ("WarpStripedToBlocked", "BlockedToWarpStriped", "ScatterToWarpStriped")
"""Members of ``BlockExchange``, which gives them no number of lanes."""


def _find_primitives(source: KernelSource) -> Iterator[Hit]:
    for index in _find_cub_names(source, _PRIMITIVES):
        name = source.texts[index]
        arguments = _read_template_arguments(source, index)
        if arguments is not None and len(arguments) == _PRIMITIVES[name]:
            last = arguments[-1].stop - 1
            edit = Edit(source.tokens[last].end, source.tokens[last].end, ", 32")
            message = f"{name} is of 32 lanes, where hipCUB's default is a wavefront"
            yield Hit(index, last, message, (edit,))


def _find_lane_counts(source: KernelSource) -> Iterator[Hit]:
    for index in _find_cub_names(source, {*_FUNCTIONS, *_PRIMITIVES}):
        name = source.texts[index]
        if name in _FUNCTIONS:
            yield _report(source, index, _FUNCTIONS[name])
        elif not source.is_token(index - 3, "using"):
            arguments = _read_template_arguments(source, index)
            if arguments is None or len(arguments) < _PRIMITIVES[name]:
                yield _report(source, index, "write its number of lanes, 32")
    for name in _METHODS:
        for index in source.uses(name):
            if source.is_token(index - 1, "."):
                yield _report(source, index, "write the exchange with a stride of 32")


def _report(source: KernelSource, index: int, action: str) -> Hit:
    fact = "hipCUB counts the lanes of a wavefront, 32 or 64, where CUB counts 32"
    return Hit(index, index, f"{source.texts[index]}: {fact}: {action}")


def _find_cub_names(source: KernelSource, names: Collection[str]) -> Iterator[int]:
    """Yield the tokens that name something of CUB in code that CUDA's compiler reads."""
    mentions = [index for namespace in _NAMESPACES for index in source.uses(namespace)]
    opened = any(source.reads(index - 2, "using", "namespace") for index in mentions)
    spaces = {
        *_NAMESPACES,
        *(
            source.texts[index - 2]
            for index in mentions
            if source.is_token(index - 1, "=") and source.is_token(index - 3, "namespace")
        ),
    }

    def is_qualified(index: int) -> bool:
        return index > 1 and source.is_token(index - 1, "::") and source.texts[index - 2] in spaces

    found = sorted(index for name in names for index in source.uses(name))
    brought = {
        source.texts[index]
        for index in found
        if is_qualified(index) and source.is_token(index - 3, "using")
    }
    for index in drop_amd_uses(source, found):
        if (
            is_qualified(index)
            if source.is_token(index - 1, "::")
            else opened or source.texts[index] in brought
        ):
            yield index


def _read_template_arguments(source: KernelSource, index: int) -> list[range] | None:
    """Return the tokens of each template argument after a name; None where there are none."""
    if not source.is_token(index + 1, "<"):
        return None
    arguments: list[range] = []
    depth, first, at = 0, index + 2, index + 1
    while at < len(source.texts):
        text = source.texts[at]
        if text in (";", "{") or text in CLOSING:
            return None
        if text in OPENING:
            close = source.closing(at)
            if close is None:
                return None
            at = close
        depth += (text == "<") - (text == ">")
        if depth == 0 or (depth == 1 and text == ","):
            arguments.append(range(first, at))
            first = at + 1
        if depth == 0:
            return arguments if all(arguments) else None
        at += 1
    return None


RULES: Final = (
    KernelRule("PH117", "cub_warp", "CUB primitive on a warp", _find_primitives),
    KernelRule("PH212", "cub_lanes", "CUB on lanes", _find_lane_counts),
)
