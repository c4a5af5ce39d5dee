"""From the edits of findings to the bytes of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.lang.source import Source
    from portkit.tree.finding import Edit, Finding


def edited(source: Source, findings: Sequence[Finding]) -> bytes:
    """Return a file with what findings write there.

    Two findings may take the same bytes away: two arms alike, of which either replaces a third.

    Args:
        source: the file.
        findings: what is found in it.

    Raises:
        PlanError: two findings want to edit the same bytes.
    """
    edits = sorted(
        ((edit, finding) for finding in findings for edit in finding.edits),
        key=lambda pair: (pair[0].start, pair[0].end, pair[1].span.end, pair[1].code),
    )
    out: list[bytes] = []
    at = 0
    previous: tuple[Edit, Finding] | None = None
    for edit, finding in edits:
        if previous is not None and edit == previous[0] and not edit.text:
            continue
        if edit.start < at:
            assert previous is not None  # `at` is beyond 0 only after a first edit
            line, _ = source.position(edit.start)
            raise PlanError(
                f"{source.path}:{line}: {previous[1].code} and {finding.code} want to edit the "
                "same place; this is a defect of portkit: skip one of the two rules meanwhile"
            )
        out += [source.data[at : edit.start], with_newlines(source, edit.text)]
        at, previous = edit.end, (edit, finding)
    out.append(source.data[at:])
    return b"".join(out)


def with_newlines(source: Source, text: str) -> bytes:
    """Return a text with the line ends of the file that it is written into."""
    return text.replace("\n", source.newline).encode()
