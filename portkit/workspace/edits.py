"""From the edits of findings to the bytes of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from portkit.errors import PlanError
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Edit, Finding


class Piece(NamedTuple):
    """The bytes ``[start, end)`` of a written file that an edit of a finding has put there.

    They are empty for an edit that only removes.
    """

    start: int
    end: int
    finding: Finding
    edit: Edit


def apply_edits(source: SourceFile, findings: Sequence[Finding]) -> bytes:
    """Return the content of a file with the edits of findings.

    Two findings may take the same bytes away: two arms alike, of which either replaces a third.
    """
    if clash := find_clash(findings):
        (first, second), at = clash
        line, _ = source.position(at)
        raise PlanError(
            f"{source.path}:{line}: {first.code} and {second.code} want to edit the "
            "same place; this is a defect of portkit: skip one of the two rules meanwhile"
        )
    return write_edits(source, findings)[0]


def find_clash(findings: Iterable[Finding]) -> tuple[tuple[Finding, Finding], int] | None:
    """Return the first two findings of a file that edit the same bytes, and the offset."""
    at = 0
    previous: tuple[Edit, Finding] | None = None
    for edit, finding in _sort_edits(findings):
        if previous is not None and edit == previous[0] and not edit.text:
            continue
        if edit.start < at:
            assert previous is not None  # `at` is beyond 0 only after a first edit
            return (previous[1], finding), edit.start
        at, previous = edit.end, (edit, finding)
    return None


def write_edits(source: SourceFile, findings: Iterable[Finding]) -> tuple[bytes, tuple[Piece, ...]]:
    """Return a file with edits that do not clash, and the position of each edit."""
    out: list[bytes] = []
    pieces: list[Piece] = []
    at = length = 0
    previous: Edit | None = None
    for edit, finding in _sort_edits(findings):
        if edit == previous and not edit.text:
            continue
        new = match_newlines(source, edit.text)
        out += [source.data[at : edit.start], new]
        length += edit.start - at
        pieces.append(Piece(length, length + len(new), finding, edit))
        length += len(new)
        at, previous = edit.end, edit
    out.append(source.data[at:])
    return b"".join(out), tuple(pieces)


def _sort_edits(findings: Iterable[Finding]) -> list[tuple[Edit, Finding]]:
    return sorted(
        ((edit, finding) for finding in findings for edit in finding.edits),
        key=lambda pair: (pair[0].start, pair[0].end, pair[1].span.end, pair[1].code),
    )


def match_newlines(source: SourceFile, text: str) -> bytes:
    """Return a text with the line ends of the file that it is written into."""
    return text.replace("\n", source.newline).encode()
