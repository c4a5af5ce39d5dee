"""A primitive of CUB on the threads of a warp, without its number of lanes.

CUB's default is 32 lanes. hipCUB's default is the size of the wavefront. On gfx90a and gfx94x, it
would join two CUDA warps into one.

Example: ``cub::WarpReduce<float>`` becomes ``cub::WarpReduce<float, 32>``; PH108 renames ``cub``.

Limits: PH212 reports the primitives whose number of lanes cannot be written.

Source: CUB documentation, "Warp-wide collectives"; hipCUB headers,
hipcub/backend/rocprim/warp/*.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.preprocessor_conditions import find_amd_only, is_within
from portkit.hipify.rules._findings import report_rewrite
from portkit.syntax.cxx_tokens import CLOSING, OPENING
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH117"

PRIMITIVES: Final = {
    "WarpReduce": 1,
    "WarpScan": 1,
    "WarpExchange": 2,
    "WarpMergeSort": 2,
    "WarpLoad": 3,
    "WarpStore": 3,
}
"""The templates, and how many arguments stand before the number of lanes."""

_NAMESPACES: Final = ("cub", "hipcub")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each primitive that 32 is written for."""
    for index in find_cub_names(source, PRIMITIVES):
        arguments = read_template_arguments(source, index)
        if arguments is None or len(arguments) != PRIMITIVES[source.texts[index]]:
            continue
        last = arguments[-1].stop - 1
        edit = Edit(source.tokens[last].end, source.tokens[last].end, ", 32")
        yield report_rewrite(
            source,
            CODE,
            index,
            last,
            (edit,),
            construct="CUB primitive on a warp",
            message=f"{source.texts[index]} is of 32 lanes, where hipCUB's default is a wavefront",
        )


def find_cub_names(source: KernelSource, names: Collection[str]) -> Iterator[int]:
    """Yield the tokens that name something of CUB in code that CUDA's compiler reads."""
    opened = any(
        source.is_token(index - 1, "namespace") and source.is_token(index - 2, "using")
        for namespace in _NAMESPACES
        for index in source.names.get(namespace, ())
    )
    spaces = {*_NAMESPACES, *_read_aliases(source)}
    found = sorted(index for name in names for index in source.names.get(name, ()))
    brought = {
        source.texts[i]
        for i in found
        if _is_in(source, i, spaces) and source.is_token(i - 3, "using")
    }
    hip = find_amd_only(source) if found else []
    for index in found:
        is_named = source.is_token(index - 1, "::")
        own = (
            _is_in(source, index, spaces) if is_named else opened or source.texts[index] in brought
        )
        if own and not is_within(hip, source.tokens[index].start):
            yield index


def _read_aliases(source: KernelSource) -> Iterator[str]:
    for namespace in _NAMESPACES:
        for index in source.names.get(namespace, ()):
            if source.is_token(index - 1, "=") and source.is_token(index - 3, "namespace"):
                yield source.texts[index - 2]


def _is_in(source: KernelSource, index: int, namespaces: Collection[str]) -> bool:
    return index > 1 and source.is_token(index - 1, "::") and source.texts[index - 2] in namespaces


def read_template_arguments(source: KernelSource, index: int) -> list[range] | None:
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
