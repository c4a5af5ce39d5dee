"""PTX as calls of the prelude's functions (``hipx_ptx.h``).

An assembly statement is translated as a whole or not at all: each of its instructions is known, its
operands are of the sizes that the instruction asks for, and nothing in it needs a register, a scope
or a label of its own. One predicate may guard instructions: ``setp`` becomes their condition.

Source: PTX ISA; CUDA, "Inline PTX Assembly in CUDA" (constraints).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.ptx_instructions import Instruction, find_instruction, is_known_instruction
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.hipify.inline_assembly import Assembly, Operand

_SIZES: Final = {"h": "16", "r": "32", "f": "32", "l": "64", "d": "64", "n": "n"}
_PREDICATE: Final = re.compile(r"\.reg\s*\.pred\s+%?(\w+)")
_SETP: Final = re.compile(
    r"(setp\.(?:eq|ne)\.[bsu]32|setp\.(?:lt|le|gt|ge)\.[su]32)\s+%?(\w+)\s*,(.*)"
)
_GUARD: Final = re.compile(r"@(!?)%?(\w+)\s+(.*)", re.DOTALL)
_NAME: Final = re.compile(r"[a-z][\w.:]*")
_LITERAL: Final = re.compile(r"(-?\d+|0[xX][0-9a-fA-F]{1,8})U?")
_BITS: Final = re.compile(r"0[fF]([0-9a-fA-F]{8})")
_DECIMAL: Final = re.compile(r"-?\d+\.\d*")
_WORDING: Final = {
    "mask": re.compile(r"(0[xX][fF]{8}|-1|4294967295)[uUlL]*"),
    "barrier": re.compile(r"0"),
}
"""What an operand has to be that the prelude's function does not take."""


class UnknownPtxError(Exception):
    """A statement has no translation; the text says why, naming the instruction."""


class PtxCall(Value, frozen=True):
    """The translation of an instruction."""

    text: str  # the expression
    writes: tuple[int, ...]  # the number of an operand for each time that it is written
    reads: tuple[int, ...]  # likewise for each time that one is read


def translate_assembly(statement: Assembly) -> str:
    """Return the expression that a statement becomes."""
    if statement.template is None or statement.operands is None:
        raise UnknownPtxError("a template or operand is not written plainly")
    text = statement.template.strip().rstrip("; \n\t")
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    conditions: dict[str, PtxCall | None] = {}
    calls: list[PtxCall] = []
    for piece in filter(None, (" ".join(part.split()) for part in text.split(";"))):
        predicate = _PREDICATE.fullmatch(piece)
        compared = _SETP.fullmatch(piece)
        if predicate:
            conditions[predicate[1]] = None
        elif compared and compared[2] in conditions and conditions[compared[2]] is None:
            conditions[compared[2]] = _build_call(compared[1], compared[3], statement.operands)
        else:
            calls.append(_build_guarded_call(piece, conditions, statement.operands))
    _check_order(calls, statement.operands)
    return ", ".join(call.text for call in calls)


def _build_guarded_call(
    piece: str, conditions: Mapping[str, PtxCall | None], operands: Sequence[Operand]
) -> PtxCall:
    """Return the call for one instruction, under its predicate."""
    guard = _GUARD.fullmatch(piece)
    name = _NAME.match(guard[3] if guard else piece)
    condition = conditions.get(guard[2]) if guard else None
    if name is None or (guard and condition is None):
        raise UnknownPtxError(f"{piece.split()[0]} is not known")
    call = _build_call(name[0], name.string[name.end() :], operands)
    if guard is None or condition is None:
        return call
    chosen = f"(void)0 : {call.text}" if guard[1] else f"{call.text} : (void)0"
    reads = (*condition.reads, *call.reads)
    return PtxCall(f"{condition.text} ? {chosen}", call.writes, reads)


def _check_order(calls: Sequence[PtxCall], operands: Sequence[Operand]) -> None:
    """Ask that operands mean the same as in registers, which hold each but once."""
    uses = [number for call in calls for number in (*call.writes, *call.reads)]
    for number, operand in enumerate(operands):
        if operand.calls and uses.count(number) != 1:
            raise UnknownPtxError(f"{operand.text} would not be evaluated once")
    if len(calls) < 2:
        return
    written = frozenset(
        name
        for number in {n for call in calls for n in call.writes}
        for name in operands[number].names
    )
    for operand in operands:
        if not operand.is_output and operand.names & written:
            raise UnknownPtxError(f"{operand.text} may be written before it is read")


def _build_call(name: str, rest: str, operands: Sequence[Operand]) -> PtxCall:
    """Return the call for one instruction, with the rest of its text."""
    parts = _split_operands(rest)
    kinds = [_classify_operand(part, operands) for part in parts]
    if not is_known_instruction(name):
        raise UnknownPtxError(f"{name} is not known")
    instruction = None if None in kinds else find_instruction(name, " ".join(k for k in kinds if k))
    if instruction is None:
        raise UnknownPtxError(f"{name} is not known with these operands")
    return _render_call(
        name, instruction, [leaf for part in parts for leaf in _flatten_operands(part)], operands
    )


def _render_call(
    name: str, instruction: Instruction, leaves: Sequence[str], operands: Sequence[Operand]
) -> PtxCall:
    arguments = []
    writes: list[int] = []
    reads: list[int] = []
    for leaf, shape in zip(leaves, instruction.shapes, strict=True):
        number = int(leaf[1:]) if re.fullmatch(r"%\d+", leaf) else None
        if shape in _WORDING:
            said = operands[number].text if number is not None else leaf
            if not _WORDING[shape].fullmatch(said):
                raise UnknownPtxError(f"{name} with {said} is not known")
            if number is not None:
                reads.append(number)
            continue
        if shape.startswith("%"):
            continue
        if number is not None:
            (writes if shape.startswith("=") else reads).append(number)
            if shape.startswith("=") and not operands[number].is_output:
                raise UnknownPtxError(f"{name} is not known with these operands")
            arguments.append(operands[number].text)
        else:
            arguments.append(_render_literal(leaf, name, shape, operands, reads))
    return PtxCall(
        f"hipx::ptx::{instruction.function}({', '.join(arguments)})",
        tuple(writes),
        tuple(reads),
    )


def _render_literal(
    leaf: str, name: str, shape: str, operands: Sequence[Operand], reads: list[int]
) -> str:
    """Return the argument for what is no operand of the statement."""
    if leaf == "_" and shape.startswith("="):
        return "hipx::ptx::ignored()"
    offset = re.fullmatch(r"%(\d+)\s*\+\s*(\d+|0x[0-9a-fA-F]+)", leaf)
    if offset and shape.startswith("["):
        reads.append(int(offset[1]))
        return f"hipx::ptx::offset({operands[int(offset[1])].text}, {offset[2]})"
    number = _BITS.fullmatch(leaf)
    if number and shape == "32":
        return f"0x{number[1]}u"
    if _DECIMAL.fullmatch(leaf) and shape in ("32", "*"):
        return f"{leaf}f"
    if (
        _LITERAL.fullmatch(leaf)
        and shape in ("32", "n", "*")
        and -(1 << 31) <= int(leaf.rstrip("U"), 0) < 1 << 32
    ):
        return leaf.rstrip("U") + "u" * (int(leaf.rstrip("U"), 0) >= 1 << 31)
    raise UnknownPtxError(f"{name} is not known with these operands")


def _split_operands(text: str) -> list[str]:
    """Return the operands of an instruction, as they stand between commas."""
    parts = re.split(r",(?![^{\[]*[}\]])", text)
    stripped = [part.strip() for part in parts]
    return [] if stripped == [""] else stripped


def _flatten_operands(part: str) -> list[str]:
    if part.startswith("{"):
        return [each.strip() for each in part[1:-1].split(",")]
    return [part[1:-1].strip() if part.startswith("[") else part]


def _classify_operand(part: str, operands: Sequence[Operand]) -> str | None:
    """Return what an operand is, as shapes say it, None where that is not known.

    A size for a register (``=32`` where it is written), ``n`` for a constant, ``_`` for a result
    that goes nowhere, brackets, braces around more than one, the name of a special register.
    """
    if part.startswith("{") and part.endswith("}"):
        kinds = [_classify_operand(each, operands) for each in _flatten_operands(part)]
        if len(kinds) == 1:
            return kinds[0]
        return None if None in kinds else f"{{{' '.join(k for k in kinds if k)}}}"
    if part.startswith("[") and part.endswith("]"):
        inner = re.fullmatch(r"(%\d+)(\s*\+\s*(\d+|0x[0-9a-fA-F]+))?", part[1:-1].strip())
        kind = _classify_operand(inner[1], operands) if inner else None
        return None if kind is None else f"[{kind.lstrip('=')}]"
    if re.fullmatch(r"%\d+", part):
        if int(part[1:]) >= len(operands):
            return None
        operand = operands[int(part[1:])]
        size = _SIZES.get(operand.constraint.strip("=+&"))
        return None if size is None else f"={size}" if operand.is_output else size
    if part.startswith("%%"):
        return part[1:]
    if part == "_":
        return "_"
    return "n" if any(each.fullmatch(part) for each in (_LITERAL, _BITS, _DECIMAL)) else None
