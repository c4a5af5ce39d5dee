"""The rule about names that look like CUDA's and that no other rule translates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.api_table import find_mapping
from portkit.hipify.device_names import looks_like_cuda
from portkit.hipify.rules.queries import MEMBER, is_declared_in_source
from portkit.hipify.rules.renames import is_thrust_namespace
from portkit.hipify.rules.rule import Hit, KernelRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

SUSPECT: Final = re.compile(
    r"cuda[A-Z]\w*|cu(?:rand|blas|dnn|fft|sparse|solver|tensor|pti)(?:[A-Z]\w*|_\w+_t)"
    r"|cu[A-Z][a-z]\w+|CU[a-z]\w+|_?nv(?:rtc|ml|tx|jpeg|JitLink)[A-Z]\w*"
    r"|__nv_\w+|__cluster_dims__|__block_size__|__NV_\w+|__v[a-z]+[24]|__\w+_sync"
    r"|(?:bsr|csr)[a-z]+(?:02|2(?:csr)?)Info(?:_t)?|csru2csrInfo(?:_t)?|pruneInfo(?:_t)?"
    r"|(?:gesvdj|syevj)Info_t|surfaceReference|textureReference"
)
"""Names of CUDA's libraries, which the table knows only in part."""

_CONSTANT: Final = re.compile(
    r"CU(?:RAND|BLAS(?:LT)?|DNN|FFT|SPARSE(?:LT)?|SOLVER(?:DN|RF)?|TENSOR(?:MG)?|PTI)?_[A-Z\d]\w*"
    r"|CUDA_(?:ERROR_\w+|[RC]_\d\w*|(?:MEM|GRAPH|BATCH)\w+)|CUDALIBMG_\w+"
    r"|CUDART_(?!VERSION$)[A-Z]\w*|NV(?:RTC|ML|FFT)_[A-Z]\w*"
)
_CUDA_NAMESPACE: Final = "cuda"
_TEMPLATE: Final = re.compile(r"[<>,*&]|::|\w+")


def _find(source: KernelSource) -> Iterator[Hit]:
    for name, uses in source.names.items():
        if name == _CUDA_NAMESPACE:
            yield from _find_in_namespace(source, uses)
            continue
        mapping = find_mapping(name)
        if (mapping is not None and mapping.group) or SUSPECT.fullmatch(name):
            suspects = uses
        elif _CONSTANT.fullmatch(name):  # what is called is somebody's macro, as CUBLAS_CHECK
            suspects = [index for index in uses if not source.is_token(index + 1, "(")]
        elif looks_like_cuda(name):
            suspects = [index for index in uses if _is_call(source, index)]
        else:
            continue
        if not suspects or (mapping is not None and mapping.hip):
            continue
        if name in source.own or is_declared_in_source(source, name):
            continue
        known = "HIP has no counterpart of it" if mapping else "the API table does not know it"
        action = mapping.note if mapping and mapping.note else "write the HIP side by hand"
        for index in suspects:
            yield Hit(index, index, f"{name}: {known}; {action}")


def _is_call(source: KernelSource, index: int) -> bool:
    """Whether a free function is called at an index, with template arguments or without.

    A member and an item of a namespace are somebody's own; a name before ``(`` in a macro's
    definition is the macro's.
    """
    before = source.texts[index - 1] if index else ""
    if before in MEMBER or before in ("#define", "#undef"):
        return False
    following = index + 1
    if source.is_token(following, "<"):
        while following < len(source.texts) and _TEMPLATE.fullmatch(source.texts[following]):
            following += 1
        if not source.is_token(following - 1, ">"):
            return False
    return source.is_token(following, "(")


def _find_in_namespace(source: KernelSource, uses: list[int]) -> Iterator[Hit]:
    for index in uses:
        if (
            source.is_token(index + 1, "::")
            and index + 2 < len(source.texts)
            and not source.is_token(index + 2, "std")
            and not is_thrust_namespace(source, index)
        ):
            name = f"cuda::{source.texts[index + 2]}"
            message = f"{name}: no rule; write the HIP side by hand"
            if source.is_token(index - 1, "::") and source.tokens[index - 2].kind == "name":
                owner = source.texts[index - 2]
                message = f"{owner}::{name} belongs to {owner}: see what it is in a build for ROCm"
            yield Hit(index, index + 2, message)


RULES: Final = (KernelRule("PH201", "unknown_name", "CUDA name", _find),)
