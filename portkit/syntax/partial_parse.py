"""The parts of a Rust file that must be parsed to see some places in it.

Most of a file has nothing to do with any backend, and parsing is most of a scan's time. Where the
file shows plainly where its items begin, those without a place are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import add

from portkit.syntax.name_table import NO_CODE
from portkit.syntax.span import Span
from portkit.syntax.word_search import find_occurrences

# A blank line, and then a line that is not indented and closes nothing. Where lines end with a
# carriage return there is none, and the file is one part.
_BEGINNING = re.compile(rb"\n\n(?=[A-Za-z#/])")
# The same one level deeper, as rustfmt indents what an `impl` holds.
_MEMBER = re.compile(rb"\n\n(?=    [A-Za-z#/])")
_IMPL = re.compile(rb"(?:(?://|#\[)[^\n]*\n)*(?:unsafe )?impl\b[^\n{};]*\{\n")
"""An ``impl`` that opens at the end of its first line, with what stands before it."""
_NO_CODE = re.compile(NO_CODE.pattern.encode(), NO_CODE.flags & ~re.UNICODE)
# What names other files and crates, and what speaks of the file as a whole.
_KEPT = (b"\nuse ", b"\nmod ", b"\npub use ", b"\npub mod ", b"\npub(", b"\n#!")
_KEPT_BEGIN = (b"\nuse ", b"\nmod ", b"\npub", b"\n#!")
"""What each of them begins with: the fewer there are to look for the better."""
_BRACKETS = ((b"{", b"}"), (b"(", b")"), (b"[", b"]"))
_BALANCED: tuple[int, ...] = (0, 0, 0, 0)
_ONE_BRACE = (0, 1, 0, 0)  # What is open: a quote, and brackets of each kind.
_UNMARKED = bytes(set(range(256)) - set(b'{}()[]"'))  # What neither opens nor closes anything.


def find_needed_parts(
    data: bytes, places: Sequence[int], words: Sequence[bytes]
) -> list[Span] | None:
    """Return the parts of a file that hold its imports, the places and the words.

    A part is whole items with their attributes and comments, so that it parses as it does in the
    whole file: it closes the brackets, strings and comments that it opens.

    Args:
        words: in lower case; an item that holds one of them, in any case, is kept.

    Returns:
        The parts, in order; none where the file does not show plainly where its items begin.
    """
    lowered = data.lower()
    lines = (at + 1 for at in _all(data, _KEPT_BEGIN) if data.startswith(_KEPT, at))
    wanted = sorted({0, *places, *lines, *_all(lowered, words)})
    kept: list[Span] = []
    start = 0
    commented = b"/*" in data
    marks = _Marks(commented)
    for last, end in pairwise([0, *(m.end() for m in _BEGINNING.finditer(data)), len(data)]):
        text = data[last:end]
        marks.read(text)
        if marks.comments > 0 and end < len(data):
            continue  # a comment goes on beyond the blank line
        if not marks.closed():
            return None
        if not _ends_with_an_item(text) and end < len(data):
            continue
        if _holds(wanted, start, end):
            kept += _members(data, Span(start, end), wanted, _Marks(commented))
        start = end
    return kept


class _Marks:
    """What a text that is read piece by piece has opened so far."""

    def __init__(self, commented: bool) -> None:
        self.commented = commented
        self.open = _BALANCED
        self.comments = 0

    def read(self, text: bytes) -> None:
        """Read the next piece, a number of whole lines."""
        found = _count(text)
        # Messages and prose hold half-open intervals, as in `[0, 1)`.
        if found != _BALANCED and not self.comments and self.open[0] % 2 == 0:
            found = _count(_NO_CODE.sub(b"", text))
        if found != _BALANCED:
            self.open = tuple(map(add, self.open, found))
        if self.commented:
            self.comments += text.count(b"/*") - text.count(b"*/")

    def closed(self, but: tuple[int, ...] = _BALANCED) -> bool:
        """Whether nothing is open, but for some brackets."""
        quotes, *brackets = self.open
        return not self.comments and quotes % 2 == 0 and (0, *brackets) == but


def _count(text: bytes) -> tuple[int, ...]:
    """Return whether quotes are odd, and how many more brackets of each kind open than close."""
    marks = text.translate(None, _UNMARKED)
    if not marks:
        return _BALANCED
    brackets = [marks.count(one) - marks.count(other) for one, other in _BRACKETS]
    return marks.count(b'"') % 2, *brackets


def _members(data: bytes, part: Span, wanted: Sequence[int], marks: _Marks) -> Iterator[Span]:
    """Yield a part of a file; of an ``impl`` only its members with something wanted.

    One that is wanted for its first lines is whole: then it may be copied as a whole.
    """
    head = _IMPL.match(data, part.start)
    if head is None or _holds(wanted, part.start, head.end()):
        yield part
        return
    yield Span(part.start, head.end())
    marks.read(head.group())
    start = last = head.end()
    for member in _MEMBER.finditer(data, start, part.end):
        text = data[last : member.start() + 2]
        if b"\n}" in text:
            break  # the `impl` has ended
        last = member.start() + 2
        marks.read(text)
        if marks.closed(_ONE_BRACE) and _ends_with_an_item(text):
            if _holds(wanted, start, last):
                yield Span(start, last)
            start = last
    yield Span(start, part.end)


def _holds(places: Sequence[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def _all(data: bytes, words: Sequence[bytes]) -> Iterator[int]:
    return (at for word in words for at in find_occurrences(data, word))


def _ends_with_an_item(text: bytes) -> bool:
    """Whether a text ends with an item, not with attributes or comments of the next one."""
    bare = text.rstrip()
    last = bare[bare.rfind(b"\n") + 1 :]
    return bare.endswith((b"}", b";")) and not last.startswith(b"//")
