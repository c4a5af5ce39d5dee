"""A name that looks like CUDA's and that no rule translates.

The compiler would report it too, but as an undeclared name and only in code that is compiled for
that target. Names that the source itself declares or defines as macros are its own.

Example: ``cudaFooBar(x)`` stays and is reported.

What to do: ``portkit map NAME`` shows what is known and which names are like it; else write the
HIP side by hand. What another library has in a namespace of its own, such as PyTorch in
``at::cuda``, is a question to that library's ROCm build.

Source: the API table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import refused
from portkit.hipify.rules.api_name import api_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH201"

_SUSPECT = re.compile(
    r"cuda[A-Z]\w*|cu(?:rand|blas|dnn|fft|sparse)[A-Z]\w*|nvrtc[A-Z]\w*|cu[A-Z][a-z]\w+|"
    r"__nv_\w+|__NV_\w+|__v[a-z]+[24]|__\w+_sync"
)
_CUDA_NAMESPACE = "cuda"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each use of such a name."""
    table = api_table.corrections()
    for name, uses in source.names.items():
        if name == _CUDA_NAMESPACE:
            yield from _foreign_namespace(source, uses)
            continue
        if _SUSPECT.fullmatch(name) is None or name in table or name in source.own:
            continue
        group = api_group(name)
        mapping = api_table.group(group or "device").get(name)
        if mapping is not None and mapping.hip:
            continue
        if _is_own(source, name, uses):
            continue
        known = "HIP has no counterpart of it" if mapping else "the API table does not know it"
        for index in uses:
            yield refused(
                source,
                CODE,
                index,
                index,
                construct="CUDA name",
                message=f"{name}: {known}; write the HIP side by hand",
            )


def _is_own(source: KernelSource, name: str, uses: list[int]) -> bool:
    """Whether the source defines the name: a macro, or a declaration with a body or initializer."""
    for index in uses:
        if index > 0 and source.tokens[index - 1].text in ("#define", "struct", "class", "enum"):
            return True
        if (
            index > 0
            and source.tokens[index - 1].kind == "name"
            and source.is_token(index + 1, "(")
        ):
            close = source.closing(index + 1)
            if close is not None and source.is_token(close + 1, "{"):
                return True
    return False


def _foreign_namespace(source: KernelSource, uses: list[int]) -> Iterator[Finding]:
    for index in uses:
        if (
            source.is_token(index + 1, "::")
            and index + 2 < len(source.tokens)
            and not source.is_token(index + 2, "std")
            and not source.is_token(index - 2, "thrust")
        ):
            name = f"cuda::{source.tokens[index + 2].text}"
            message = f"{name}: no rule; write the HIP side by hand"
            if source.is_token(index - 1, "::") and source.tokens[index - 2].kind == "name":
                owner = source.tokens[index - 2].text
                message = f"{owner}::{name} belongs to {owner}: see what it is in a build for ROCm"
            yield refused(source, CODE, index, index + 2, construct="CUDA name", message=message)
