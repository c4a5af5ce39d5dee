"""Comments in the source that exclude a finding: ``// portkit: exclude PK501 reason``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.syntax.value import Value

VERBS: Final = ("exclude", "keep")
"""The verbs of such a comment; ``keep`` is how portkit 0.1 wrote it."""
MARK: Final = "portkit:"
"""What such a comment begins with."""
_HINTS: Final = (b"ortkit", b"ORTKIT", b"ortKit")
"""A part of the mark, also as somebody may have meant it; to ask for these is faster."""
_COMMENT: Final = re.compile(
    r"(?P<code>.*?)(?://+|#)\s*portkit:[ \t]*(?P<verb>\w*)[ \t]*"
    r"(?P<codes>P[KH]\d{3}(?:\s*,\s*P[KH]\d{3})*)?[ \t]*(?P<reason>.*?)\s*(?:\*/)?\s*"
)
_ALMOST: Final = re.compile(
    r"(?P<code>.*?)(?P<mark>(?://+!?|/\*+!?|#+!?)\s*portkit(?:\s*:)?)\s*(?:exclude\b|keep\b|\w*\s*P[KH]\d).*",
    re.IGNORECASE,
)
"""A comment that was meant to exclude something, and does not."""
_BETWEEN: Final = re.compile(r"\s*(?://|#|$)")
"""A line that may stand between a comment and its place: a comment, an attribute, nothing."""


class ExclusionComment(Value, frozen=True):
    """A comment that excludes the findings below it, or on its own line."""

    path: str
    span: Span
    codes: tuple[str, ...]
    first: int
    last: int
    reason: str
    verb: str
    mark: str = MARK  # What it begins with, where that is not the mark of such comments.

    @property
    def is_complete(self) -> bool:
        """Whether it has codes and a reason; otherwise it excludes nothing."""
        return self.mark == MARK and self.verb in VERBS and bool(self.reason)

    def excludes(self, code: str, line: int) -> bool:
        """Whether it excludes a finding of this code that begins at this line."""
        return self.is_complete and code in self.codes and self.first <= line <= self.last


def find_exclusion_comments(source: SourceFile) -> Iterator[ExclusionComment]:
    """Yield the comments of a file that exclude something, or were meant to."""
    if not any(hint in source.data for hint in _HINTS):
        return
    lines = source.data.decode(errors="replace").split("\n")
    below = _places_below(lines)
    for number, line in enumerate(lines, 1):
        start = source.line_starts[number - 1]
        found = _COMMENT.fullmatch(line)
        if found is None:
            if (almost := _ALMOST.fullmatch(line)) is not None:
                span = Span(start, start + len(line.encode()))
                yield ExclusionComment(
                    source.path, span, (), number, number, "", "", almost["mark"]
                )
            continue
        codes = tuple(re.findall(r"P[KH]\d{3}", found["codes"] or ""))
        first = last = number
        if not found["code"].strip():
            first, last = number + 1, below[number]
        span = Span(start, start + len(line.encode()))
        yield ExclusionComment(
            source.path, span, codes, first, last, found["reason"], found["verb"]
        )


def strip_exclusion_comments(text: bytes) -> bytes:
    """Return a file without the comments that exclude something, whole lines of them included."""
    if MARK.encode() not in text:
        return text
    kept = []
    for line in text.decode("latin-1").splitlines(keepends=True):
        body = line.rstrip("\r\n")
        found = _COMMENT.fullmatch(body)
        if found is None or found["verb"] not in VERBS:
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
