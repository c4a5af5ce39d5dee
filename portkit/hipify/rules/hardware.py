"""Rules about parts of kernels that AMD's GPUs run otherwise or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import find_mapping
from portkit.hipify.preprocessor_conditions import is_within
from portkit.hipify.rules.queries import find_cuda_uses
from portkit.hipify.rules.rule import Hit, KernelRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

_WMMA: Final = ("experimental", "precision", "bmma_sync", "bmmaBitOp", "bmmaAccumulateOp")
_TEXTURES: Final = re.compile(
    r"tex[123]D\w*|texCubemap\w*|surf[123]D\w*|cuda(Texture|Surface)Object_t"
)
_BEFORE_DECLARATION: Final = frozenset({";", "{", "}", "static", "extern"})
_LOCKS: Final = ("atomicCAS", "atomicCAS_block", "atomicExch")


def _find_tensor_cores(source: KernelSource) -> Iterator[Hit]:
    if "nvcuda" not in source.names:
        return
    for name in _WMMA:
        for index in source.uses(name):
            if source.is_token(index - 1, "::") or name.startswith("bmma"):
                message = f"nvcuda::wmma's {name} has no counterpart in the prelude"
                yield Hit(index, index, message)
    for index in source.uses("fragment"):
        layout = _find_layout(source, index + 2) if source.is_token(index + 1, "<") else None
        if layout is not None:
            yield Hit(index, layout, "the prelude has a row-major A and a column-major B only")


def _find_layout(source: KernelSource, index: int) -> int | None:
    """Return the index of a layout that the prelude lacks among template arguments."""
    use = None
    for position in range(index, min(index + 40, len(source.texts))):
        text = source.texts[position]
        if text in ("matrix_a", "matrix_b"):
            use = text
        elif (use, text) in (("matrix_a", "col_major"), ("matrix_b", "row_major")):
            return position
        elif text in (";", "{", "row_major", "col_major", "accumulator"):
            return None
    return None


def _find_textures(source: KernelSource) -> Iterator[Hit]:
    for index in (i for name in ("texture", "surface") for i in source.uses(name)):
        kind, before, *_ = source.tokens[index - 1] if index else ("directive", "")
        begins = kind in ("include", "directive") or before in _BEFORE_DECLARATION
        if begins and source.is_token(index + 1, "<"):
            message = (
                f"{source.texts[index]}: CUDA 12 has no texture references, and gfx90a and"
                " gfx94x have no textures; read global memory"
            )
            yield Hit(index, index, message)
    for name, uses in source.names.items():
        if _TEXTURES.fullmatch(name):
            message = f"{name}: gfx90a and gfx94x have no textures; read global memory"
            yield from (Hit(index, index, message) for index in uses)


def _find_spin_locks(source: KernelSource) -> Iterator[Hit]:
    for name in _LOCKS:
        for index in find_cuda_uses(source, name):
            arguments = source.call(index)
            if not arguments or not all(
                len(each) == 1 and source.tokens[each.start].kind == "number"
                for each in arguments[1:]
            ):
                continue
            if _is_loop_condition(source, index):
                message = (
                    f"{name} is a lock that this loop waits for. Lanes of one wavefront that wait"
                    " for each other hang on AMD. Let one lane take it, or do the work in the loop"
                )
                yield Hit(index, index, message)


def _is_loop_condition(source: KernelSource, index: int) -> bool:
    around = source.enclosing[index]
    while around > 0 and source.texts[around] == "(":
        if source.texts[around - 1] == "while":
            return True
        around = source.enclosing[around]
    return False


def _find_device_launches(source: KernelSource) -> Iterator[Hit]:
    calls = [
        index
        for name, uses in source.names.items()
        if _is_host_function(name)
        for index in uses
        if source.is_token(index + 1, "(")
    ]
    if "<<<" not in source.text and not calls:
        return
    bodies: list[tuple[int, int]] = []
    for body in sorted(_find_device_bodies(source), key=lambda body: body.start):
        if not bodies or body.start >= bodies[-1][1]:
            bodies.append((body.start, body.stop))
    for index in (i for i, text in enumerate(source.texts) if text == "<<<"):
        if is_within(bodies, index):
            yield Hit(index, index, "a kernel launches a kernel: launch it from the host instead")
    for index in calls:
        if is_within(bodies, index):
            message = (
                f"{source.texts[index]} is called in device code. HIP has it on the host only."
                " Call it from the host"
            )
            yield Hit(index, index, message, construct="host function")


def _is_host_function(name: str) -> bool:
    """Whether a name is a function of CUDA's runtime that HIP's host has."""
    mapping = find_mapping(name)
    return (
        mapping is not None
        and mapping.group == "runtime"
        and mapping.kind == "function"
        and mapping.hip.startswith("hip")
        and not mapping.hip.startswith("hipx")
    )


def _find_device_bodies(source: KernelSource) -> Iterator[range]:
    """Yield the token ranges of the bodies of functions that run on the device only."""
    for mark in (*source.uses("__global__"), *source.uses("__device__")):
        if source.is_token(mark - 1, "__host__") or source.is_token(mark + 1, "__host__"):
            continue
        for index in range(mark, len(source.texts)):
            if source.texts[index] == ";":
                break
            if source.texts[index] == "{":
                yield range(index, _find_body_end(source, index))
                break


def _find_body_end(source: KernelSource, opening: int) -> int:
    """Return the end of a function's body: its bracket, or the first in the first column.

    Branches of the preprocessor can open more brackets than they close; the first column tells.
    """
    close = source.closing(opening)
    end = close if close is not None else len(source.tokens)
    for index in range(opening, end):
        token = source.tokens[index]
        if token.text == "}" and source.text[token.start - 1] == "\n":
            return index
    return end


RULES: Final = (
    KernelRule("PH204", "tensor_core", "tensor core", _find_tensor_cores),
    KernelRule("PH205", "texture", "texture", _find_textures),
    KernelRule("PH207", "device_launch", "device launch", _find_device_launches),
    KernelRule("PH217", "spin_lock", "spin lock", _find_spin_locks),
)
