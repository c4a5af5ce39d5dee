"""A name that looks like CUDA's and that no rule translates, of any of its libraries.

The compiler would report it too, but as an undeclared name and only in code that is compiled for
that target. Names that the source itself declares or defines as macros are its own.

A call counts as CUDA's where its name begins as those of CUDA's device functions do, with two
underscores or as an atomic function: nothing else has to know it. HIP's headers declare many of
them under the same name; those are no finding.

Example: ``cudaFooBar(x)`` stays and is reported; so does ``__nanosleep(10)``, with what is said of
it in the table.

What to do: ``portkit map NAME`` shows what is known and which names are like it; else write the
HIP side by hand. What another library has in a namespace of its own, such as PyTorch in
``at::cuda``, is a question to that library's ROCm build.

Limits: what a header outside the tree declares under such a name is not known and is reported.

Source: the API table; the headers of HIP and of clang.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.device_names import looks_like_cuda
from portkit.hipify.rules._findings import MEMBER, is_declared_in_source, report_manual
from portkit.hipify.rules.namespace import is_thrust_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH201"

_SUSPECT = re.compile(
    r"cuda[A-Z]\w*|cu(?:rand|blas|dnn|fft|sparse|solver|tensor|pti)(?:[A-Z]\w*|_\w+_t)"
    r"|cu[A-Z][a-z]\w+|CU[a-z]\w+|_?nv(?:rtc|ml|tx|jpeg|JitLink)[A-Z]\w*"
    r"|__nv_\w+|__cluster_dims__|__block_size__|__NV_\w+|__v[a-z]+[24]|__\w+_sync"
)
_CONSTANT = re.compile(
    r"CU(?:RAND|BLAS(?:LT)?|DNN|FFT|SPARSE(?:LT)?|SOLVER(?:DN|RF)?|TENSOR(?:MG)?|PTI)?_[A-Z\d]\w*"
    r"|CUDA_(?:ERROR_\w+|[RC]_\d\w*|(?:MEM|GRAPH|BATCH)\w+)|CUDALIBMG_\w+"
    r"|CUDART_(?!VERSION$)[A-Z]\w*|NV(?:RTC|ML|FFT)_[A-Z]\w*"
)
_CUDA_NAMESPACE = "cuda"
_TEMPLATE = re.compile(r"[<>,*&]|::|\w+")


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of such a name."""
    for name, uses in source.names.items():
        if name == _CUDA_NAMESPACE:
            yield from _find_foreign_namespaces(source, uses)
            continue
        api = api_table.find_api_name(name)
        if api is not None or _SUSPECT.fullmatch(name):
            suspects = uses
        elif _CONSTANT.fullmatch(name):  # what is called is somebody's macro, as CUBLAS_CHECK
            suspects = [index for index in uses if not source.is_token(index + 1, "(")]
        elif looks_like_cuda(name):
            suspects = [index for index in uses if _is_call(source, index)]
        else:
            continue
        mapping = api[1] if api is not None else api_table.find_mapping(name, ("device",))
        if not suspects or (mapping is not None and mapping.hip):
            continue
        if name in source.own or is_declared_in_source(source, name, uses):
            continue
        known = "HIP has no counterpart of it" if mapping else "the API table does not know it"
        instead = mapping.note if mapping and mapping.note else "write the HIP side by hand"
        for index in suspects:
            yield report_manual(
                source,
                CODE,
                index,
                index,
                construct="CUDA name",
                message=f"{name}: {known}; {instead}",
            )


def _is_call(source: KernelSource, index: int) -> bool:
    """Whether a free function is called at an index, with template arguments or without.

    A member and what is in a namespace are somebody's own; a name before ``(`` in a macro's
    definition is the macro's.
    """
    before = source.tokens[index - 1].text if index else ""
    if before in MEMBER or before in ("#define", "#undef"):
        return False
    following = index + 1
    if source.is_token(following, "<"):
        while following < len(source.tokens) and _TEMPLATE.fullmatch(source.tokens[following].text):
            following += 1
        if not source.is_token(following - 1, ">"):
            return False
    return source.is_token(following, "(")


def _find_foreign_namespaces(source: KernelSource, uses: list[int]) -> Iterator[Finding]:
    for index in uses:
        if (
            source.is_token(index + 1, "::")
            and index + 2 < len(source.tokens)
            and not source.is_token(index + 2, "std")
            and not is_thrust_namespace(source, index)
        ):
            name = f"cuda::{source.tokens[index + 2].text}"
            message = f"{name}: no rule; write the HIP side by hand"
            if source.is_token(index - 1, "::") and source.tokens[index - 2].kind == "name":
                owner = source.tokens[index - 2].text
                message = f"{owner}::{name} belongs to {owner}: see what it is in a build for ROCm"
            yield report_manual(
                source, CODE, index, index + 2, construct="CUDA name", message=message
            )
