"""A range of bytes in a file."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of bytes ``[start, end)`` in one file."""

    start: int
    end: int

    def contains(self, offset: int) -> bool:
        """Whether the byte at ``offset`` lies in the span."""
        return self.start <= offset < self.end

    def encloses(self, other: Span) -> bool:
        """Whether ``other`` lies wholly in the span."""
        return self.start <= other.start and other.end <= self.end
