"""Inline assembly as GCC's syntax has it: a template, and operands with their constraints.

Source: GCC documentation, "Extended Asm"; CUDA, "Inline PTX Assembly in CUDA".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from portkit.hipify.kernel_source import KernelSource

KEYWORDS: Final = ("asm", "__asm__", "__asm")
_QUALIFIERS: Final = frozenset({"volatile", "__volatile__", "__volatile"})
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Operand(Value, frozen=True):
    """One operand."""

    constraint: str  # as written, without quotes: ``=r``
    text: str  # the expression, as it stands
    start: int  # the offset of its first character in the source
    names: frozenset[str]  # the identifiers in it
    calls: bool  # whether to evaluate it twice may differ from once: it calls, or changes something

    @property
    def is_output(self) -> bool:
        """Whether the assembly writes it."""
        return self.constraint[:1] in ("=", "+")


class Assembly(Value, frozen=True):
    """One statement."""

    first: int  # index of its first token
    last: int  # index of the bracket that closes it
    template: str | None  # its text, without escapes and comments; None where it is no plain string
    # outputs, then inputs; None where one is not written plainly
    operands: tuple[Operand, ...] | None

    @property
    def is_amd(self) -> bool:
        """Whether an operand stands in a register that AMD's GPUs alone have.

        Source: LLVM, "User Guide for AMDGPU Backend", "Inline Assembler".
        """
        return any(each.constraint.strip("=+&") in ("v", "s", "a") for each in self.operands or ())


def find_assembly(source: KernelSource) -> list[Assembly]:
    """Return each statement of a source, in order."""
    uses = sorted(index for name in KEYWORDS for index in source.names.get(name, ()))
    return [_read_statement(source, index) for index in uses]


def _read_statement(source: KernelSource, index: int) -> Assembly:
    begin = index + 1
    while begin < len(source.tokens) and source.tokens[begin].text in _QUALIFIERS:
        begin += 1
    close = source.closing(begin) if source.is_token(begin, "(") else None
    if close is None:
        return Assembly(index, _find_statement_end(source, index), None, None)
    sections = _split_sections(source, begin + 1, close)
    return Assembly(
        index, close, _read_template(source, sections[0]), _read_operands(source, sections[1:3])
    )


def _find_statement_end(source: KernelSource, index: int) -> int:
    """Return where a statement ends that is not written as usual."""
    last = index
    while last < len(source.tokens) - 1 and not source.is_token(last, "("):
        last += 1
    return (source.closing(last) if source.is_token(last, "(") else None) or index


def _split_sections(source: KernelSource, first: int, stop: int) -> list[range]:
    """Return the tokens between the colons; ``::`` is two of them."""
    sections, begin, at = [], first, first
    while at < stop:
        text = source.tokens[at].text
        if text in (":", "::"):
            sections += [range(begin, at), *[range(at, at)] * (text == "::")]
            begin = at + 1
        at = (source.closing(at) or at) + 1 if text in "([{" else at + 1
    return [*sections, range(begin, stop)]


def _read_template(source: KernelSource, tokens: range) -> str | None:
    parts = []
    for token in (source.tokens[index] for index in tokens):
        if token.text == "\\":  # a macro goes on
            continue
        if token.kind != "string" or not token.text.startswith('"'):
            return None
        parts.append(_unescape(token.text[1:-1]))
    text = "".join(parts)
    return None if "\0" in text else _COMMENT.sub(" ", text)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], "\0"), text, flags=re.DOTALL)


def _read_operands(source: KernelSource, sections: list[range]) -> tuple[Operand, ...] | None:
    found = []
    for section in sections:
        at = section.start
        while at < section.stop:
            if source.is_token(at, "\\"):
                at += 1
                continue
            token = source.tokens[at]
            opening = at + 1
            close = source.closing(opening) if source.is_token(opening, "(") else None
            if token.kind != "string" or close is None or close >= section.stop:
                return None
            found.append(_read_operand(source, token.text[1:-1], opening + 1, close))
            at = close + 1
            while at < section.stop and source.tokens[at].text in (",", "\\"):
                at += 1
    return tuple(found)


def _read_operand(source: KernelSource, constraint: str, first: int, close: int) -> Operand:
    tokens = source.tokens[first:close]
    start = tokens[0].start if tokens else source.tokens[close].start
    text = source.text[start : tokens[-1].end] if tokens else ""
    if len(source.arguments(first - 1) or []) > 1:  # a comma that separates no arguments
        start, text = (
            source.tokens[first - 1].start,
            source.text[source.tokens[first - 1].start : source.tokens[close].end],
        )
    changes = {"++", "--", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
    calls = any(
        token.text in changes or (token.kind == "name" and source.is_token(index + 1, "("))
        for index, token in enumerate(tokens, first)
    )
    return Operand(
        constraint,
        text,
        start,
        frozenset(token.text for token in tokens if token.kind == "name"),
        calls,
    )
