"""Inline assembly.

PTX means nothing to an AMD assembler. Where the source itself keeps a branch for AMD
(``#ifdef __HIP_PLATFORM_AMD__``, or a macro of its own such as ``USE_ROCM``, which ``--define``
names) the compiler never sees the other, and nothing is reported there, as with every refusal.

Example: ``asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));`` stays and is reported.

What to do: write it in C++ or with a clang builtin; the finding names what is known to do the same,
such as ``__threadfence()`` for ``membar.gl`` and ``__lane_id()`` for ``%laneid``, and says what AMD
lacks and what to write in its place, such as loads through registers for ``cp.async``. Or put it
behind ``#if !defined(__HIP_PLATFORM_AMD__)``. Where it is known, a profile's patch does so.

Source: PTX ISA; clang documentation, "Inline Assembly".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._common import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.api_table import Mapping
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
            message=f"inline PTX: {_instead(source, index, last)}",
        )


def _instead(source: KernelSource, first: int, last: int) -> str:
    """Return what to do about the assembly between two tokens."""
    text = "".join(t.text for t in source.tokens[first : last + 1] if t.kind == "string")
    table = api_table.corrections()
    known = [m for m in table.values() if m.kind == "ptx" and _stands(m.cuda, text)]
    if not known:
        return "write it in C++ or behind #if !defined(__HIP_PLATFORM_AMD__)"
    return f"{'; '.join(map(_said, known))}; or keep it behind #if !defined(__HIP_PLATFORM_AMD__)"


def _said(known: Mapping) -> str:
    if not known.hip:
        return f"AMD has no {known.cuda}: {known.note}"
    return f"{known.cuda} is {known.hip}" + (f" ({known.note})" if known.note else "")


def _stands(instruction: str, text: str) -> bool:
    """Whether an instruction, or a special register, stands in assembly."""
    return re.search(rf"(?<![\w.]){re.escape(instruction)}(?!\w)", text) is not None
