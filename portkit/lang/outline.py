"""Which parts of a Rust file must be parsed to look at some places in it.

Most of a file has nothing to do with any backend, and parsing is most of a scan's time. Where the
file shows plainly where its items begin, those without a place are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from portkit.lang.span import Span
from portkit.lang.words import occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A blank line, and then a line that is not indented and closes nothing. Where lines end with a
# carriage return there is none, and the file is one part.
_BEGINNING = re.compile(rb"\n\n(?=[A-Za-z#/])")
# What names other files and crates, and what speaks of the file as a whole.
_KEPT = (b"\nuse ", b"\nmod ", b"\npub use ", b"\npub mod ", b"\npub(", b"\n#!")
_KEPT_BEGIN = (b"\nuse ", b"\nmod ", b"\npub", b"\n#!")
"""What each of them begins with: the fewer there are to look for the better."""
_BRACKETS = ((b"{", b"}"), (b"(", b")"), (b"[", b"]"))
_UNMARKED = bytes(set(range(256)) - set(b'{}()[]"'))
"""What neither opens nor closes anything."""


def parts(data: bytes, places: Sequence[int], words: Sequence[bytes]) -> list[Span] | None:
    """Return the parts of a file that hold its imports, the places and the words.

    A part is whole items with their attributes and comments, so that it parses as it does in the
    whole file: it closes the brackets, strings and comments that it opens.

    Args:
        data: the file.
        places: offsets.
        words: in lower case; an item that holds one of them, in any case, is kept.

    Returns:
        The parts, in order; none where the file does not show plainly where its items begin.
    """
    lowered = data.lower()
    lines = (at + 1 for at in _all(data, _KEPT_BEGIN) if data.startswith(_KEPT, at))
    wanted = sorted({0, *places, *lines, *_all(lowered, words)})
    commented = b"/*" in data
    kept: list[Span] = []
    start = last = quotes = comments = 0
    brackets = [0] * len(_BRACKETS)
    for end in [*(m.end() for m in _BEGINNING.finditer(data)), len(data)]:
        text = data[last:end]
        last = end
        marks = text.translate(None, _UNMARKED)
        quotes += marks.count(b'"')
        for number, (one, other) in enumerate(_BRACKETS):
            brackets[number] += marks.count(one) - marks.count(other)
        if commented:
            comments += text.count(b"/*") - text.count(b"*/")
        if comments > 0 and end < len(data):
            continue  # a comment goes on beyond the blank line
        if any(brackets) or comments or quotes % 2:
            return None
        if not _ends_with_an_item(text) and end < len(data):
            continue
        at = bisect_left(wanted, start)
        if at < len(wanted) and wanted[at] < end:
            kept.append(Span(start, end))
        start = end
    return kept


def _all(data: bytes, words: Sequence[bytes]) -> Iterator[int]:
    return (at for word in words for at in occurrences(data, word))


def _ends_with_an_item(text: bytes) -> bool:
    """Whether what ends here is an item, and not what stands before one and belongs to it."""
    bare = text.rstrip()
    last = bare[bare.rfind(b"\n") + 1 :]
    return bare.endswith((b"}", b";")) and not last.startswith(b"//")
