"""Inline assembly.

PTX means nothing to an AMD assembler. Where the source itself keeps a branch for AMD
(``#ifdef USE_ROCM``, ``__HIP_PLATFORM_AMD__``, ``GGML_USE_HIP``) the compiler never sees the other;
so an assembly statement is reported unless preprocessor conditions already keep it from AMD.

Example: ``asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));`` stays and is reported.

What to do: write it in C++ or with a clang builtin, or put it behind
``#if !defined(__HIP_PLATFORM_AMD__)``. Where it is known, a profile's patch does so.

Source: PTX ISA; clang documentation, "Inline Assembly".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.conditions import excluded_on_amd
from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.finding import Finding
    from portkit.hipify.lexer import KernelSource

CODE = "PH203"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each assembly statement that AMD's compiler would see."""
    uses = [i for name in ("asm", "__asm__", "__asm") for i in source.names.get(name, ())]
    if not uses:
        return
    excluded = excluded_on_amd(source)
    for index in sorted(uses):
        start = source.tokens[index].start
        if any(low <= start < high for low, high in excluded):
            continue
        last = index
        while last < len(source.tokens) - 1 and not source.is_token(last, "("):
            last += 1
        last = source.closing(last) or index
        yield refused(
            source,
            CODE,
            index,
            last,
            construct="inline assembly",
            message="inline PTX: write it in C++ or behind #if !defined(__HIP_PLATFORM_AMD__)",
        )
