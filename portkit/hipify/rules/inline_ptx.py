"""Inline assembly that has no translation.

PTX means nothing to an AMD assembler. What the prelude has functions for is rewritten (PH113); the
finding names the first instruction that it has none for, or what else keeps a statement from being
translated. AMD's own assembly stays and is none. Where the source itself keeps a branch for AMD
(``#ifdef __HIP_PLATFORM_AMD__``, or a macro of its own such as ``USE_ROCM``, which ``--define``
names) the compiler never sees the other, and nothing is reported there, as with every refusal.

Example: ``asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));`` stays and is reported.

What to do: write it in C++ or with a clang builtin; the finding names what is known to do the same,
such as ``__smid()`` for ``%smid``, and says what AMD lacks and what to write in its place, such as
``__syncthreads()`` for an ``mbarrier``. A statement that is translated but for a register of its
own can be parted, with a variable in place of the register. Or put it behind
``#if !defined(__HIP_PLATFORM_AMD__)``. Where it is known, a profile's patch does so.

Source: PTX ISA; clang documentation, "Inline Assembly".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.hipify import api_table
from portkit.hipify.rules._findings import report_manual
from portkit.hipify.rules.ptx_instruction import translate_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.api_table import Mapping
    from portkit.hipify.kernel_source import KernelSource
    from portkit.hipify.ptx import UnknownPtxError
    from portkit.workspace.finding import Finding

CODE = "PH203"

_GUARD = "#if !defined(__HIP_PLATFORM_AMD__)"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each assembly statement that AMD's compiler would see."""
    for statement, unknown in translate_statements(source):
        if not isinstance(unknown, str):
            yield report_manual(
                source,
                CODE,
                statement.first,
                statement.last,
                construct="inline assembly",
                message="inline PTX: "
                + _describe_action(source, statement.first, statement.last, unknown),
            )


def _describe_action(source: KernelSource, first: int, last: int, unknown: UnknownPtxError) -> str:
    """Return what to do about the assembly between two tokens."""
    text = "".join(t.text for t in source.tokens[first : last + 1] if t.kind == "string")
    table = api_table.load_corrections()
    known = [m for m in table.values() if m.kind == "ptx" and _is_used(m.cuda, text)]
    if not known:
        return f"{unknown}: write it in C++ or behind {_GUARD}"
    instead = "; ".join(map(_describe_known, known))
    return f"{unknown}: {instead}; or keep it behind {_GUARD}"


def _describe_known(known: Mapping) -> str:
    if not known.hip:
        return f"AMD has no {known.cuda}: {known.note}"
    return f"{known.cuda} is {known.hip}" + (f" ({known.note})" if known.note else "")


def _is_used(instruction: str, text: str) -> bool:
    """Whether an instruction, or a special register, stands in assembly."""
    return re.search(rf"(?<![\w.]){re.escape(instruction)}(?!\w)", text) is not None
