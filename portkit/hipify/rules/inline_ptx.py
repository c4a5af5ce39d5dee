"""Inline assembly.

PTX means nothing to an AMD assembler. Where the source itself keeps a branch for AMD
(``#ifdef __HIP_PLATFORM_AMD__``, or a macro of its own such as ``USE_ROCM``, which ``--define``
names) the compiler never sees the other, and nothing is reported there, as with every refusal.

Example: ``asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));`` stays and is reported.

What to do: write it in C++ or with a clang builtin, or put it behind
``#if !defined(__HIP_PLATFORM_AMD__)``. Where it is known, a profile's patch does so.

Source: PTX ISA; clang documentation, "Inline Assembly".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource
    from portkit.tree.finding import Finding

CODE = "PH203"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each assembly statement that AMD's compiler would see."""
    uses = [i for name in ("asm", "__asm__", "__asm") for i in source.names.get(name, ())]
    for index in sorted(uses):
        last = index
        while last < len(source.tokens) - 1 and not source.is_token(last, "("):
            last += 1
        last = (source.closing(last) if source.is_token(last, "(") else None) or index
        yield refused(
            source,
            CODE,
            index,
            last,
            construct="inline assembly",
            message="inline PTX: write it in C++ or behind #if !defined(__HIP_PLATFORM_AMD__)",
        )
