"""Rules about inline PTX: statements that the prelude has functions for, and all others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.hipify.api_table import list_corrections
from portkit.hipify.inline_assembly import find_assembly
from portkit.hipify.preprocessor_conditions import find_amd_excluded, find_amd_only, is_within
from portkit.hipify.ptx import UnknownPtxError, translate_assembly
from portkit.hipify.rules import renames, warps
from portkit.hipify.rules.rule import Hit, KernelRule
from portkit.workspace.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.api_table import Mapping
    from portkit.hipify.inline_assembly import Assembly, Operand
    from portkit.hipify.kernel_source import KernelSource

HEADER: Final = "hipx_ptx.h"

_GUARD: Final = "#if !defined(__HIP_PLATFORM_AMD__)"

_OPERAND_CODES: Final = frozenset({"PH107", "PH106", "PH108", "PH104", "PH112", "PH105", "PH111"})
_OPERAND_RULES: Final = tuple(
    rule for rule in (*renames.RULES, *warps.RULES) if rule.code in _OPERAND_CODES
)
"""Rules that may rewrite a part of an operand, which moves: their edits move with it."""


def _find_known(source: KernelSource) -> Iterator[Hit]:
    found = [
        statement for statement, known in translate_statements(source) if isinstance(known, str)
    ]
    edits = (
        sorted(e for rule in _OPERAND_RULES for f in rule.apply(source) for e in f.edits)
        if found
        else []
    )
    for statement in found:
        operands = tuple(_apply_edits(each, edits) for each in statement.operands or ())
        new = translate_assembly(replace(statement, operands=operands))
        start, end = source.tokens[statement.first].start, source.tokens[statement.last].end
        message = f"inline PTX becomes {new.replace('hipx::ptx::', '')}"
        yield Hit(statement.first, statement.last, message, (Edit(start, end, new),))


def _find_unknown(source: KernelSource) -> Iterator[Hit]:
    for statement, unknown in translate_statements(source):
        if isinstance(unknown, str):
            continue
        first, last = statement.first, statement.last
        text = "".join(t.text for t in source.tokens[first : last + 1] if t.kind == "string")
        known = [
            mapping
            for mapping in list_corrections("ptx")
            if re.search(rf"(?<![\w.]){re.escape(mapping.cuda)}(?!\w)", text)
        ]
        action = (
            f"{'; '.join(map(_describe_known, known))}; or keep it behind {_GUARD}"
            if known
            else f"write it in C++ or behind {_GUARD}"
        )
        yield Hit(first, last, f"inline PTX: {unknown}: {action}")


def _describe_known(known: Mapping) -> str:
    if not known.hip:
        return f"AMD has no {known.cuda}: {known.note}"
    return f"{known.cuda} is {known.hip}" + (f" ({known.note})" if known.note else "")


def translate_statements(
    source: KernelSource,
) -> Iterator[tuple[Assembly, str | UnknownPtxError]]:
    """Yield each statement of CUDA's that AMD's compiler sees, and its translation or the reason.

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


def _apply_edits(operand: Operand, edits: list[Edit]) -> Operand:
    """Return an operand with the edits that lie in it."""
    text = operand.text
    for edit in reversed(edits):
        first, last = edit.start - operand.start, edit.end - operand.start
        if 0 <= first <= last <= len(operand.text):
            text = text[:first] + edit.text + text[last:]
    return replace(operand, text=text)


RULES: Final = (
    KernelRule("PH113", "ptx_instruction", "inline PTX", _find_known),
    KernelRule("PH203", "inline_ptx", "inline assembly", _find_unknown),
)
