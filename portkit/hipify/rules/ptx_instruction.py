"""Inline PTX whose instructions the prelude has functions for.

Each instruction becomes a call of the function in ``hipx_ptx.h`` that is named after it and
computes what the PTX ISA says; several in one statement become one expression. Asynchronous copies
are made at once, what only tells the caches goes, and matrix instructions are right and slow:
rocWMMA is what to write for speed. A predicate, made by ``setp``, may guard instructions.

Example: ``asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));`` becomes
``hipx::ptx::cvt_rn_f16_f32(h, x);``.

Limits: a statement is translated as a whole, and only where it declares no register of its own and
each operand is one of the statement's, a constant, an address, or a vector of them. Any other stays
(PH203), and so does what AMD's compiler never sees.

Source: PTX ISA; CUDA, "Inline PTX Assembly in CUDA".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.hipify.inline_assembly import find_assembly
from portkit.hipify.preprocessor_conditions import find_amd_excluded, find_amd_only, is_within
from portkit.hipify.ptx import UnknownPtxError, translate_assembly
from portkit.hipify.rules import (
    api_name,
    intrinsic,
    namespace,
    narrow_float,
    warp_size,
    warp_sync,
    warp_unmasked,
)
from portkit.hipify.rules._findings import report_rewrite
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.inline_assembly import Assembly, Operand
    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding

CODE = "PH113"
HEADER = "hipx_ptx.h"
_OPERAND_RULES = (
    api_name,
    intrinsic,
    namespace,
    narrow_float,
    warp_size,
    warp_sync,
    warp_unmasked,
)
"""The rules that may rewrite a part of an operand, which moves: their edits move with it."""


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for each statement that has a translation."""
    found = [
        statement for statement, known in translate_statements(source) if isinstance(known, str)
    ]
    within = sorted(
        (edit for rule in _OPERAND_RULES for each in rule.find(source) for edit in each.edits)
        if found
        else ()
    )
    for statement in found:
        tokens = source.tokens
        operands = tuple(_apply_operand_edits(each, within) for each in statement.operands or ())
        new = translate_assembly(replace(statement, operands=operands))
        edit = Edit(tokens[statement.first].start, tokens[statement.last].end, new)
        yield report_rewrite(
            source,
            CODE,
            statement.first,
            statement.last,
            (edit,),
            construct="inline PTX",
            message=f"inline PTX becomes {new.replace('hipx::ptx::', '')}",
        )


def translate_statements(source: KernelSource) -> Iterator[tuple[Assembly, str | UnknownPtxError]]:
    """Yield each statement of CUDA's that AMD's compiler sees, and what it becomes, or why nothing.

    An empty template without operands is no PTX, but says that memory may have changed.
    """
    found = find_assembly(source)
    hidden = [find_amd_excluded(source), find_amd_only(source)] if found else []
    for statement in found:
        start = source.tokens[statement.first].start
        empty = statement.template == "" and statement.operands == ()
        if empty or statement.is_amd or any(is_within(spans, start) for spans in hidden):
            continue
        try:
            yield statement, translate_assembly(statement)
        except UnknownPtxError as unknown:
            yield statement, unknown


def _apply_operand_edits(operand: Operand, edits: list[Edit]) -> Operand:
    """Return an operand with the edits that lie in it."""
    text = operand.text
    for edit in reversed(edits):
        first, last = edit.start - operand.start, edit.end - operand.start
        if 0 <= first <= last <= len(operand.text):
            text = text[:first] + edit.text + text[last:]
    return replace(operand, text=text)
