"""``min`` or ``max`` that takes other types on AMD.

On the host CUDA has both for all arithmetic types, and HIP for ``int`` alone: other arguments are
converted. On the device CUDA compares an ``unsigned`` and an ``int`` as unsigned numbers, and HIP
compares them as doubles. Nothing is written.

Example: ``max(bytes, other)`` in a function of the host stays and is for review, and so is
``min(5u, n)`` in a kernel with ``int n``.

What to do: write ``std::min<T>`` or ``std::max<T>`` in host code. Convert both arguments to one
type in kernels.

Limits: on the device the type of a literal, a cast, a built-in variable and a variable of the same
file is known; that of an expression is not.

Source: CUDA headers, math_functions.hpp; HIP headers, amd_hip_runtime.h; clang headers,
__clang_hip_math.h.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.rules._findings import find_cuda_uses, report_manual
from portkit.hipify.scopes import read_function_head, resolve_name
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH214"

_NAMES: Final = ("min", "max")
_DEVICE: Final = frozenset({"__global__", "__device__"})
_BUILTIN: Final = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_UNSIGNED: Final = re.compile(r"unsigned|size_t|uint\w*")
_SIGNED: Final = re.compile(r"int|long|signed|ssize_t|ptrdiff_t|int(?:32|64)_t")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each call whose types differ."""
    declared: dict[str, dict[int, list[int]]] = {}
    heads: dict[int, list[str]] = {}
    for name in _NAMES:
        if name not in source.names or _is_declared(source, name):
            continue
        for index in find_cuda_uses(source, name):
            head = read_function_head(source, index, heads)
            arguments = source.arguments(index + 1) if source.is_token(index + 1, "(") else None
            if not head or arguments is None or len(arguments) != 2:
                continue
            if _DEVICE.isdisjoint(head):
                said = f"on the host HIP's {name} is of int alone: write std::{name}<T>"
            elif {_read_sign(source, each, declared) for each in arguments} == {"u", "s"}:
                said = f"HIP compares an unsigned and an int as doubles in {name}: convert one"
            else:
                continue
            finding = report_manual(
                source, CODE, index, index, construct="min or max", message=said
            )
            yield replace(finding, applicability=Applicability.REVIEW)


def _is_declared(source: KernelSource, name: str) -> bool:
    """Whether the source has such a function of its own, or of the standard library."""
    for index in source.names.get("std", ()):
        if source.is_token(index - 1, "namespace") and source.is_token(index - 2, "using"):
            return True
    for index in source.names[name]:
        before = source.tokens[index - 1] if index else None
        if before is not None and before.text in ("#define", "T", "int", "float", "double", "auto"):
            return True
        if source.is_token(index - 3, "using"):
            return True
    return False


def _read_sign(
    source: KernelSource, argument: range, declared: dict[str, dict[int, list[int]]]
) -> str | None:
    """Return ``u`` or ``s`` of an argument whose type is plain, else None."""
    texts = [source.texts[index] for index in argument]
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
