"""Comments in the source that keep a place: ``// portkit: keep PK501 reason``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.lang.span import Span
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.lang.source import Source

VERB: Final = "keep"
"""What such a comment can ask for; there is nothing else."""
_MARK: Final = b"portkit:"
_COMMENT: Final = re.compile(
    r"(?P<code>.*?)(?://+|#)\s*portkit:[ \t]*(?P<verb>\w*)[ \t]*"
    r"(?P<codes>P[KH]\d{3}(?:\s*,\s*P[KH]\d{3})*)?[ \t]*(?P<reason>.*?)\s*(?:\*/)?\s*"
)
_BETWEEN: Final = re.compile(r"\s*(?://|#|$)")
"""A line that may stand between a comment and its place: a comment, an attribute, nothing."""


class Kept(Value, frozen=True):
    """A comment that keeps what begins below it, or on its own line.

    Attributes:
        path: the file.
        span: the comment's line.
        codes: what is kept.
        first: the first line at which a kept place may begin.
        last: the last one.
        reason: why; empty where the comment gives none.
        verb: what is to be done; there is only ``keep``.
    """

    path: str
    span: Span
    codes: tuple[str, ...]
    first: int
    last: int
    reason: str
    verb: str

    @property
    def is_whole(self) -> bool:
        """Whether it says what is to be done, and why; another keeps nothing."""
        return self.verb == VERB and bool(self.reason)

    def keeps(self, code: str, line: int) -> bool:
        """Whether it keeps a place with this code that begins at this line of its file."""
        return self.is_whole and code in self.codes and self.first <= line <= self.last


def comments(source: Source) -> Iterator[Kept]:
    """Yield the comments of a file that keep something."""
    if _MARK not in source.data:
        return
    lines = source.data.decode(errors="replace").split("\n")
    below = _places_below(lines)
    for number, line in enumerate(lines, 1):
        found = _COMMENT.fullmatch(line)
        if found is None:
            continue
        start = source.line_starts[number - 1]
        codes = tuple(re.findall(r"P[KH]\d{3}", found["codes"] or ""))
        first = last = number
        if not found["code"].strip():
            first, last = number + 1, below[number]
        span = Span(start, start + len(line.encode()))
        yield Kept(source.path, span, codes, first, last, found["reason"], found["verb"])


def without_comments(text: bytes) -> bytes:
    """Return a file without the comments that keep something, whole lines of them included."""
    if _MARK not in text:
        return text
    kept = []
    for line in text.decode("latin-1").splitlines(keepends=True):
        body = line.rstrip("\r\n")
        found = _COMMENT.fullmatch(body)
        if found is None or found["verb"] != VERB:
            kept.append(line)
        elif found["code"].strip():
            kept.append(found["code"].rstrip() + line[len(body) :])
    return "".join(kept).encode("latin-1")


def _places_below(lines: Sequence[str]) -> list[int]:
    """Return for each line the first one below it at which a place may begin, from 1."""
    found = [len(lines) + 1]
    for number in range(len(lines), 1, -1):
        between = number < len(lines) and _BETWEEN.match(lines[number - 1])
        found.append(found[-1] if between else number)
    return [0, *reversed(found)]
