"""The PTX instructions that the prelude has a function for, and the operands that they take.

Modifiers that change no result are left out of a function's name: what an instruction tells the
caches, and the rounding that is the default.

Source: PTX ISA, the sections that ``hipx_ptx_*.h`` name.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from portkit.syntax.value import Value


class Instruction(Value, frozen=True):
    """An instruction with operands that it takes."""

    function: str  # the prelude's, in ``hipx::ptx``
    # each operand, of vectors each element: the size of a register, with ``=`` where it is written
    # and ``*`` for any size; ``n``, a constant; ``mask``, a mask of all lanes; ``barrier``, that of
    # all threads; ``[]``, an address; ``%`` and a special register
    shapes: tuple[str, ...]


_SHAPE: Final = re.compile(r"\[\]|%[\w.]+|=?[\w*]+")
_ACCEPTED: Final = {
    "=16": "(?:=16|_)",
    "=32": "(?:=32|_)",
    "=64": "(?:=64|_)",
    "=*": r"(?:=\d+|_)",
    "16": "=?16",
    "32": "(?:=?32|n)",
    "64": "=?64",
    "*": r"(?:=?\d+|n)",
    "n": "n",
    "mask": "(?:=?32|n)",
    "[]": r"\[\d+\]",
    "barrier": "n",
}

_MEMORY: Final = frozenset({"ld", "ldu", "st", "red", "atom"})
_ORDERS: Final = {
    "weak": "",
    "volatile": "relaxed",
    "relaxed": "relaxed",
    "acquire": "ordered",
    "release": "ordered",
}
_UNTOLD: Final = re.compile(
    r"cta|cluster|gpu|sys|nc|c[agsv]|lu|w[bt]|L1::\w+|L2::(?:64|128|256)B|L2::evict_\w+"
)


def find_instruction(name: str, kinds: str) -> Instruction | None:
    """Return an instruction that takes operands of some kinds, None where none is known.

    ``kinds``: as shapes, but with ``[64]`` for an address of that size, and ``_``.
    """
    plain = _strip_hints(name)
    if plain is None:
        return None
    for pattern, function, operands in load_instructions():
        match = re.fullmatch(pattern, plain)
        if match and _match_operands(operands).fullmatch(kinds):
            called = match.expand(function).replace(".", "_")
            return Instruction(called, tuple(_SHAPE.findall(operands)))
    return None


def is_known_instruction(name: str) -> bool:
    """Whether an instruction is known, with whatever operands."""
    plain = _strip_hints(name)
    return plain is not None and any(
        re.fullmatch(pattern, plain) for pattern, _, _ in load_instructions()
    )


@cache
def load_instructions() -> list[tuple[str, str, str]]:
    """Return the pattern, the function and the operands of each instruction."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return [
        (name, function, kinds)
        for rows in tomllib.loads(text).values()
        for name, function, kinds in rows
    ]


@cache
def _match_operands(shape: str) -> re.Pattern[str]:
    """Return what matches the kinds that a shape takes."""
    kinds = _SHAPE.sub(
        lambda found: _ACCEPTED.get(found[0], re.escape(found[0])),
        shape.replace("{", r"\{").replace("}", r"\}"),
    )
    return re.compile(kinds)


def _strip_hints(name: str) -> str | None:
    """Return the name of an access of memory with what counts, in an order; others as they are.

    None where it has a modifier that is not known, or two that exclude each other.
    """
    opcode, *modifiers = name.split(".")
    if opcode not in _MEMORY:
        return name
    order = space = vector = operation = kind = ""
    for modifier in modifiers:
        if modifier in _ORDERS:
            order = order or _ORDERS[modifier]
        elif modifier in ("global", "shared", "shared::cta"):
            space = modifier.partition("::")[0]
        elif modifier in ("v2", "v4"):
            vector = modifier
        elif re.fullmatch(r"[busf](8|16|32|64)", modifier):
            kind = modifier
        elif modifier in ("add", "min", "max", "and", "or", "xor", "exch"):
            operation = modifier
        elif not _UNTOLD.fullmatch(modifier):
            return None
    if opcode in ("red", "atom"):
        if order == "ordered":
            return None
        if operation in ("and", "or", "xor", "exch"):
            kind = kind.replace("b", "u")
        return ".".join((opcode, space or "global", operation, kind))
    signed = kind in ("s8", "s16") and opcode != "st"
    kind = kind if signed else "b" + kind[1:]
    return ".".join(filter(None, (opcode.removesuffix("u"), order, space, vector, kind)))
