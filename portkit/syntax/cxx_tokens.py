"""Tokens of C++, with those of CUDA and HIP.

The lexer knows what a rewriter must know: where comments, strings and characters lie, which lines
are preprocessor directives, and nothing of types or grammar. Source: ISO C++17, [lex]; the launch
brackets ``<<<`` and ``>>>`` are CUDA's (CUDA C++ Programming Guide, "Kernels").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

OPENING: Final = {"(": ")", "[": "]", "{": "}"}
"""Each bracket that opens, and what closes it."""
CLOSING: Final = {close: begin for begin, close in OPENING.items()}

_TOKEN: Final = re.compile(
    # What is frequent comes first. A name before a quote may be the prefix of a literal; blanks
    # before a directive belong to it. Angle brackets that close stand alone, since ``>>`` may close
    # two templates ([temp.names]).
    r"""
    (?:[ \t]++(?!\#))?
    (?:
      (?P<punct> [;,(){}\[\]~?@\\`]|<<<|<<=|<<|::|:|->|--|\+\+|&&|\|\||\.\.\.|[-+*%^&|=!<>]=?
               | /(?![/*])=? )
    | (?P<name> [A-Za-z_$][\w$]*+(?!["']) )
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<comment> //(?:[^\n\\]|\\.)* | /\*.*?\*/ )
    | (?P<unterminated> /\* )
    | (?P<include> ^[ \t]*\#[ \t]*include(?:_next)?[ \t]*(?:<[^>\n]*>|"[^"\n]*") )
    | (?P<directive> ^[ \t]*\#[ \t]*(?:(?:error|warning)\b[^\n]*|[A-Za-z_]\w*)? )
    | (?P<string> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?\)(?P=delimiter)"
                | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" )
    | (?P<char> (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
    | (?P<other_name> [A-Za-z_$][\w$]* )
    | (?P<other_punct> \#\#|[^\s\w] )
    )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.ASCII,
)
_KINDS: Final = ("", *(name.removeprefix("other_") for name in _TOKEN.groupindex))
"""The kind of a token by the number of its group, which is had sooner than the group's name."""


class Token(NamedTuple):
    """One token."""

    # ``include``, ``directive``, ``string``, ``char``, ``name``, ``number`` or ``punct``;
    # ``comment``; ``unterminated``, where a block comment starts that never ends.
    kind: str
    text: str  # As written; of a directive the ``#`` and its word, without blanks.
    start: int
    end: int


def tokenize_cxx(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the tokens of a part of a source, comments included.

    Nothing after a block comment that never ends is read.
    """
    found: list[Token] = []
    # Most of a translation's time goes here; this takes a third of that of Token(...).
    add, made = found.append, tuple.__new__
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        group = match.lastindex or 0
        kind, written = _KINDS[group], match[group]
        first, last = match.span(group)
        if kind == "directive":
            written = "".join(written.split())
        add(made(Token, (kind, written, first, last)))
        if kind == "unterminated":
            break
    return found


def join_tokens(texts: Sequence[str]) -> str:
    """Return tokens as text, with a blank between two that would else be read as one.

    Two angle brackets that close stand side by side, as they are written.
    """
    out: list[str] = []
    for text in texts:
        glued = text.startswith(">") and out and out[-1].endswith(">")
        out.append(text if glued or not out else f" {text}")
    return "".join(out)


def match_brackets(texts: Iterable[str]) -> dict[int, int]:
    """Return the index of the partner of each bracket that has one."""
    partners: dict[int, int] = {}
    open_brackets: list[int] = []
    for index, text in enumerate(texts):
        if text in OPENING:
            open_brackets.append(index)
        elif text in CLOSING and open_brackets:
            begin = open_brackets.pop()
            partners[begin], partners[index] = index, begin
    return partners
