"""A range of bytes in a file."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of bytes ``[start, end)`` in one file."""

    start: int
    end: int

    def encloses(self, other: Span) -> bool:
        """Whether ``other`` lies wholly in the span."""
        return self.start <= other.start and other.end <= self.end
