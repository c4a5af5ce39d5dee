"""A preprocessed source: its tokens, and edits of its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from portkit.syntax.cxx_tokens import CLOSING, OPENING, match_brackets, tokenize_cxx

_MARKER: Final = re.compile(r'^# \d+ "([^\n]*)"([ 0-9]*)$', re.MULTILINE)
_SYSTEM: Final = "3"
"""The flag of a line marker for a system header (GNU cpp, "Preprocessor Output")."""

# What the headers of the device leave for the rewriting (include/hipcpu/keywords.h).
KERNEL: Final = "__hipcpu_kernel__"  # stands for ``__global__``
DEVICE: Final = "__hipcpu_device__"  # for ``__device__``, ``__constant__`` and ``__managed__``
SHARED: Final = "__hipcpu_shared__"  # for ``__shared__``
BOUNDS: Final = "__hipcpu_bounds__"  # for ``__launch_bounds__``; its arguments follow in brackets


class SourceError(Exception):
    """A place in a source that cannot be compiled for the CPU device."""


@dataclass
class Source:
    """A preprocessed source whose own text, not that of system headers, is split into tokens."""

    text: str  # what the preprocessor wrote
    tokens: list[str] = field(default_factory=list)  # the texts of the tokens
    begins: list[int] = field(default_factory=list)  # where each begins
    _edits: list[tuple[int, int, str]] = field(default_factory=list)
    _partners: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        for begin, end in _find_own_parts(self.text):
            line = begin  # up to where a pragma goes
            for token in tokenize_cxx(self.text, begin, end):
                if token.kind == "directive":
                    line = self.text.find("\n", token.end, end)
                    line = end if line < 0 else line
                elif token.start >= line:
                    self.tokens.append(token.text)
                    self.begins.append(token.start)

        self._partners = match_brackets(self.tokens)

    def end(self, index: int) -> int:
        """Return where a token ends."""
        return self.begins[index] + len(self.tokens[index])

    def at(self, index: int) -> str:
        """Return a token; empty beyond the ends."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else ""

    def closing(self, index: int) -> int:
        """Return the index of the bracket that closes the one at ``index``."""
        found = self._partners.get(index)
        if found is None:
            raise SourceError(f"{self.place(index)}: {self.tokens[index]} is not closed")
        return found

    def opening(self, index: int) -> int:
        """Return the index of the bracket that is closed by the one at ``index``; -1 for none."""
        return self._partners.get(index, -1)

    def opening_angle(self, index: int) -> int:
        """Return the index of the ``<`` that the ``>`` at ``index`` closes; -1 for none."""
        depth = 0
        i = index
        while i >= 0:
            token = self.tokens[i]
            if token == ">":
                depth += 1
            elif token == "<":
                depth -= 1
                if depth == 0:
                    return i
            elif token in CLOSING:
                i = self.opening(i)
            elif token in (";", *OPENING):
                return -1
            i -= 1
        return -1

    def replace(self, first: int, last: int, text: str) -> None:
        """Put ``text`` in place of the tokens from ``first`` to ``last``.

        Lines stay where they are: for line markers between the tokens there are newlines.
        """
        begin, end = self.begins[first], self.end(last)
        self._edits.append((begin, end, text + "\n" * self.text.count("\n", begin, end)))

    def insert(self, index: int, text: str, *, after: bool = False) -> None:
        """Put ``text`` before or after a token."""
        place = self.end(index) if after else self.begins[index]
        self._edits.append((place, place, text))

    def edited(self) -> str:
        """Return the text with the edits; where two begin at one place, in their order."""
        parts: list[str] = []
        done = 0
        for begin, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            if begin < done:
                continue  # inside of what was taken away
            parts += [self.text[done:begin], text]
            done = end
        return "".join([*parts, self.text[done:]])

    def place(self, index: int) -> str:
        """Return the file and line of a token, by the line markers."""
        begin = self.begins[min(index, len(self.begins) - 1)]
        marker = None
        for match in re.finditer(r'^# (\d+) "([^\n]*?)"', self.text[:begin], re.MULTILINE):
            marker = match
        if marker is None:
            return f"line {self.text.count(chr(10), 0, begin) + 1}"
        line = int(marker[1]) + self.text.count("\n", marker.end(), begin) - 1
        return f"{marker[2]}:{line}"


def split_tokens(tokens: list[str], separator: str = ",") -> list[list[str]]:
    """Split tokens at the separators that are in no bracket, angle brackets included."""
    return [tokens[first:end] for first, end in find_parts(tokens, 0, len(tokens), separator)]


def find_parts(
    tokens: list[str], first: int, end: int, separator: str = ","
) -> list[tuple[int, int]]:
    """Return where the parts of ``tokens[first:end]`` between separators begin and end."""
    found: list[tuple[int, int]] = []
    depth = 0
    begin = first
    for index in range(first, end):
        token = tokens[index]
        if token in OPENING or token == "<":
            depth += 1
        elif token in CLOSING or token == ">":
            depth -= 1
        elif token == separator and depth == 0:
            found.append((begin, index))
            begin = index + 1
    return [(b, e) for b, e in [*found, (begin, end)] if b < e]


def strip_extents(declaration: list[str]) -> list[str]:
    """Return a declaration without the ``[…]`` at its end."""
    end = len(declaration)
    depth = 0
    while end > 0 and (depth > 0 or declaration[end - 1] == "]"):
        depth += {"]": 1, "[": -1}.get(declaration[end - 1], 0)
        end -= 1
    return declaration[:end]


def _find_own_parts(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text that are not of system headers."""
    parts = []
    # A file is what it is when it is entered: later, the flag also stands at macros of system
    # headers that the file uses.
    system: dict[str, bool] = {}
    begin: int | None = 0
    for marker in _MARKER.finditer(text):
        if begin is not None:
            parts.append((begin, marker.start()))
        is_system = system.setdefault(marker[1], _SYSTEM in marker[2].split())
        begin = None if is_system else marker.end()
    if begin is not None:
        parts.append((begin, len(text)))
    return parts
