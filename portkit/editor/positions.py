"""Byte offsets of a file as the positions of the Language Server Protocol, and back.

Lines end in line feeds, carriage returns, or both together; characters are counted in the units
that the client and the server have agreed on (LSP 3.17, "Text Documents" and "Position").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from lsprotocol.types import Position, PositionEncodingKind, Range

if TYPE_CHECKING:
    from portkit.syntax.span import Span

_LINE_END: Final = re.compile(rb"\r\n?|\n")
_UNITS: Final = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""Each way to count, as an encoding and the bytes of its unit."""
START: Final = Range(Position(0, 0), Position(0, 0))
"""Where what is said of a file as a whole stands."""


class Positions:
    """The positions of one file."""

    def __init__(self, data: bytes, encoding: str) -> None:
        self._data = data
        self._codec, self._width = _UNITS[PositionEncodingKind(encoding)]
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(data))]

    def position(self, offset: int) -> Position:
        """Return the position of an offset; within a line's end, that where it begins."""
        line = bisect_right(self._starts, offset) - 1
        before = self._line(line, offset)
        return Position(line, len(before.encode(self._codec)) // self._width)

    def offset(self, position: Position) -> int:
        """Return the offset of a position; beyond the end of its line, or of the file, that end."""
        if position.line >= len(self._starts):
            return len(self._data)
        # Half a character counts as one that was passed.
        text = self._line(position.line, len(self._data)).encode(self._codec)
        passed = text[: position.character * self._width].decode(self._codec, errors="ignore")
        return self._starts[position.line] + len(passed.encode())

    def range(self, span: Span, *, first_line: bool = False) -> Range:
        """Return the range of a span; ``START`` where the file does not hold it."""
        if not span.start < span.end <= len(self._data):
            return START
        start, end = self.position(span.start), self.position(span.end)
        if first_line and end.line > start.line:
            text = self._line(start.line, len(self._data))
            end = Position(start.line, len(text.encode(self._codec)) // self._width)
        return Range(start, end)

    def _line(self, line: int, end: int) -> str:
        last = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._data)
        text = self._data[self._starts[line] : min(last, end)]
        return text.rstrip(b"\r\n").decode(errors="ignore")
