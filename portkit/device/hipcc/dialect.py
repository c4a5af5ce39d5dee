"""What clang for AMD GPUs accepts and other compilers do not: vector types, register names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.tokens import SourceError

if TYPE_CHECKING:
    from portkit.device.hipcc.tokens import Source

_ASM: Final = frozenset({"asm", "__asm__", "__asm"})
_REGISTERS: Final = str.maketrans("vsa", "rrr")
"""Constraints for vector, scalar and accumulator registers (LLVM, "User Guide for AMDGPU
Backend", "Inline Assembler")."""


def rewrite_dialect(source: Source) -> None:
    """Rewrite ``ext_vector_type`` and barriers for the optimizer.

    Raises:
        SourceError: assembly of AMD GPUs, which nothing here can run.
    """
    for index, token in enumerate(source.tokens):
        if token == "ext_vector_type":
            _vector(source, index)
        elif token in _ASM:
            _assembly(source, index)


def _vector(source: Source, index: int) -> None:
    """Give the size in bytes, which g++ asks for, in place of the number of elements."""
    opening = index + 1
    closing = source.closing(opening)
    count = " ".join(source.tokens[opening + 1 : closing])
    attribute = index
    while source.at(attribute) != "__attribute__":
        attribute -= 1
    if source.at(attribute - 1) == "=":  # using V = __attribute__((…)) T;
        element = source.at(source.closing(attribute + 1) + 1)
    else:
        begin = attribute
        while begin > 0 and source.tokens[begin - 1] not in (";", "{", "}", "="):
            begin -= 1
        words = source.tokens[begin:attribute]
        # typedef T V __attribute__((…)); or using V = T __attribute__((…));
        element = " ".join(words[1:-1] if words[:1] == ["typedef"] else words)
    if not element:
        raise SourceError(f"{source.place(index)}: a vector of an unknown type")
    source.replace(index, closing, f"vector_size(({count}) * sizeof({element}))")


def _assembly(source: Source, index: int) -> None:
    opening = index + 1
    while source.at(opening) in ("volatile", "__volatile__"):
        opening += 1
    if source.at(opening) != "(":
        return  # the name of a symbol
    if source.at(opening + 1) != '""':
        raise SourceError(
            f"{source.place(index)}: assembly for AMD GPUs: the CPU device needs a branch in C++"
        )
    for i in range(opening + 2, source.closing(opening)):
        if source.tokens[i].startswith('"') and source.tokens[i] != '"memory"':
            source.replace(i, i, source.tokens[i].translate(_REGISTERS))
