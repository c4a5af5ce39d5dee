"""Plain text for a terminal: colours where they are wanted, and columns that fit the width."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final, TextIO

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Match

# Select Graphic Rendition, ECMA-48 section 8.3.117.
_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "31", "32", "33"
_WIDTH: Final = 100
_NARROWEST: Final = 40
_LEAST: Final = 16
"""How many columns what stands at a place needs at least, beside the place."""

_STYLED: Final = re.compile(r"\x1b\[[\d;]*m")
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""What a terminal obeys instead of showing it: control characters but for tabs and line ends, and
what changes the direction of text (Unicode Standard Annex 9, section 2)."""


_COMMAND: Final = re.compile("`[^`]*`")
_NAME: Final = re.compile(r"(?<=[ =])'[^']*'")
_GLUE: Final = "\0"
"""Stands for a blank that belongs to a name; no name has it."""


class Terminal(Value, frozen=True):
    """Where a report is read.

    Attributes:
        coloured: whether escape sequences are understood and wanted.
    """

    width: int = _WIDTH
    coloured: bool = False

    def bold(self, text: str) -> str:
        """Return prominent text."""
        return self._style(text, _BOLD)

    def dim(self, text: str) -> str:
        """Return unobtrusive text."""
        return self._style(text, _DIM)

    def good(self, text: str) -> str:
        """Return text that says that all is well."""
        return self._style(text, _GREEN)

    def bad(self, text: str) -> str:
        """Return text that goes away."""
        return self._style(text, _RED)

    def notable(self, text: str) -> str:
        """Return text that a person should read."""
        return self._style(text, f"{_BOLD};{_YELLOW}")

    def loud(self, text: str) -> str:
        """Return text that nobody should miss."""
        return self._style(text, f"{_BOLD};{_RED}")

    def _style(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.coloured and text else text


def open_terminal(stream: TextIO) -> Terminal:
    """Return the terminal behind a stream.

    A stream that is none, such as a pipe, gets no colours and a fixed width, so that what is
    written there does not depend on the window. ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` turn
    colours off.
    """
    if not stream.isatty():
        return Terminal()
    width = max(shutil.get_terminal_size((_WIDTH, 24)).columns, _NARROWEST)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Terminal(width, not plain)


def escape_controls(text: str, *, styled: bool = False) -> str:
    r"""Escape characters that a terminal would obey.

    A name or a line of somebody's tree may hold an escape sequence; it is shown as ``\x1b``.
    """
    if styled and "\x1b" in text:
        pieces = zip(_STYLED.split(text), [*_STYLED.findall(text), ""], strict=True)
        return "".join(escape_controls(piece) + style for piece, style in pieces)
    return _HIDDEN.sub(_escape_character, text)


def escape_line(text: str) -> str:
    r"""Return a name as ``visible`` does, with tabs and line ends as ``\t`` and ``\n``."""
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape_character(match: Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shorten_text(text: str, width: int) -> str:
    """Return a text that is at most ``width`` columns wide, cut at its end where it is longer."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def wrap_text(text: str, width: int, indent: str = "") -> list[str]:
    """Return a text as lines that fit the width, each after the first with an indent.

    What the text begins with before its first word stays; a word that is wider than the line
    stands alone. A quoted name in a command is one word, with its blanks as they are.
    """

    def glue(command: Match[str]) -> str:
        return _NAME.sub(lambda name: name[0].replace(" ", _GLUE), command[0])

    text = _COMMAND.sub(glue, text)
    return [line.replace(_GLUE, " ") for line in _wrap_line(text, width, indent)]


def _wrap_line(text: str, width: int, indent: str) -> list[str]:
    first, *words = text.split() or [""]
    lines = [text[: text.find(first)] + first]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}"
    return lines


def reflow_text(text: str, width: int) -> str:
    """Return paragraphs with their lines as wide as may be; lists and code stay as they are."""
    parts = text.split("\n\n")
    plain = [not any(line[:1] in (" ", "-", "|") for line in part.split("\n")) for part in parts]
    return "\n\n".join(
        "\n".join(wrap_text(part, width)) if is_plain else part
        for part, is_plain in zip(parts, plain, strict=True)
    )


def align_locations(rows: Sequence[tuple[str, str]], *, width: int, indent: str) -> list[str]:
    """Return positions and descriptions as aligned lines.

    A place is never cut, since editors and terminals link it: what stands at one that leaves no
    room has a line of its own.
    """
    rows = [(escape_line(place), escape_line(what)) for place, what in rows]
    room = width - len(indent) - _LEAST
    wide = max((len(place) for place, _ in rows if len(place) <= room), default=0)
    lines = []
    for place, what in rows:
        if len(place) <= room:
            lines.append(shorten_text(f"{indent}{place.ljust(wide)}  {what}", width))
        else:
            lines += [f"{indent}{place}", shorten_text(f"{indent}    {what}", width)]
    return [line.rstrip() for line in lines]


def align_columns(
    rows: Sequence[Sequence[str]], *, width: int, numbers: int = 0, indent: str = ""
) -> list[str]:
    """Return rows as aligned lines.

    The columns before the numbers are set left; the last of them gives way where the line would
    not fit the width.
    """
    if not rows:
        return []
    rows = [[escape_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    elastic = len(widths) - numbers - 1
    excess = sum(widths) + 2 * (len(widths) - 1) + len(indent) - width
    widths[elastic] = max(widths[elastic] - max(excess, 0), 6)
    lines = []
    for row in rows:
        cells = [
            shorten_text(cell, wide).ljust(wide) if i <= elastic else cell.rjust(wide)
            for i, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(indent + "  ".join(cells).rstrip())
    return lines
