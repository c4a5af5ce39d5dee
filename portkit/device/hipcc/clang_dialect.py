"""What clang for AMD GPUs accepts and other compilers do not: vector types, register names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.device.hipcc.source import SourceError
from portkit.syntax.cxx_tokens import join_tokens

if TYPE_CHECKING:
    from portkit.device.hipcc.source import Source

_ASM: Final = frozenset({"asm", "__asm__", "__asm"})
_REGISTERS: Final = str.maketrans("vsa", "rrr")
"""Constraints for vector, scalar and accumulator registers (LLVM, "User Guide for AMDGPU
Backend", "Inline Assembler")."""


def rewrite_dialect(source: Source) -> None:
    """Rewrite ``ext_vector_type`` and barriers for the optimizer."""
    for index, token in enumerate(source.tokens):
        if token == "ext_vector_type":
            _rewrite_vector(source, index)
        elif token in _ASM:
            _rewrite_assembly(source, index)


def _rewrite_vector(source: Source, index: int) -> None:
    """Put a class in place of an element's type and the attribute.

    g++ forgets ``vector_size`` of a size that a template's argument tells.
    """
    count = join_tokens(source.tokens[index + 2 : source.closing(index + 1)])
    begin = index
    while source.at(begin) != "__attribute__":
        begin -= 1
    end = source.closing(begin + 1)
    first = begin
    while source.at(first - 1) not in (";", "{", "}", "=", "typedef", "#", ""):
        first -= 1
    if first == begin:  # using V = __attribute__((…)) T;
        last = end
        while source.at(last + 1).isidentifier() or source.at(last + 1) == "::":
            last += 1
        element = join_tokens(source.tokens[end + 1 : last + 1])
    elif source.at(first - 1) == "typedef":  # typedef T V __attribute__((…));
        source.replace(begin, end, "")
        element, last = join_tokens(source.tokens[first : begin - 1]), begin - 2
    else:  # using V = T __attribute__((…)); or a declaration with such a type
        element, last = join_tokens(source.tokens[first:begin]), end
    if not element:
        raise SourceError(f"{source.place(index)}: a vector of an unknown type")
    source.replace(first, last, f"typename ::hipcpu::Vector<{element}, ({count})>::Type")


def _rewrite_assembly(source: Source, index: int) -> None:
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
