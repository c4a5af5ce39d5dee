"""Fills the gaps of each ``match`` on an enum that gains a variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from portkit.checks.match_gaps import find_gaps
from portkit.checks.ported_tree import PortedTree, WrittenFile
from portkit.context.match_gap import MatchGap, MissingArmBehavior
from portkit.rules import match_arms
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.edits import Piece, match_newlines
from portkit.workspace.finding import Applicability, Edit, Finding

_ADDED: Final = {
    MissingArmBehavior.COPY: "A match in it gets an arm for one more backend, from CUDA's."
    " Check it.",
    MissingArmBehavior.OTHERS: "A match in it gets an arm for one more backend, which answers"
    " as the other arms do. Check that it should.",
    MissingArmBehavior.ERROR: "A match in it gets an arm for one more backend, which answers"
    " with an error. Write its value.",
}


def fill_gaps(ported: PortedTree, paths: Sequence[str] | None = None) -> list[Finding]:
    """Return findings by which each ``match`` takes every value after the port.

    A ``match`` of the tree gets a finding of its own. One in the text of a copy is completed there.
    """
    job = ported.job
    found = {id(finding): finding for finding in ported.findings}
    added: list[Finding] = []
    # In reverse, so that what is inserted into a copy leaves the offsets before it as they are.
    for gap in reversed([*find_gaps(ported, paths)]):
        written = ported.written(gap.path)
        pieces = written.pieces if written is not None else ()
        piece = next((p for p in pieces if p.start < gap.span.start < p.end), None)
        if piece is None or gap.answer is MissingArmBehavior.STANDS:
            added.append(match_arms.check_match_gap(job, _move_before_port(gap, written)))
            continue
        before = job.workspace.sources[gap.path]
        found[id(piece.finding)] = _complete_copy(found[id(piece.finding)], piece, gap, before)
    return [*found.values(), *reversed(added)]


def _move_before_port(gap: MatchGap, written: WrittenFile | None) -> MatchGap:
    """Return a gap with the offsets that its places have before the port."""
    if written is None:
        return gap
    at = written.offset_before
    return replace(gap, span=Span(at(gap.span.start), at(gap.span.end)), at=at(gap.at))


def _complete_copy(finding: Finding, piece: Piece, gap: MatchGap, before: SourceFile) -> Finding:
    """Return the finding of a copy with the missing arms in its text."""
    number = piece.finding.edits.index(piece.edit)
    edit = finding.edits[number]
    data, at = match_newlines(before, edit.text), gap.at - piece.start
    text = b"".join((data[:at], match_newlines(before, gap.arms), data[at:])).decode()
    edits = [*finding.edits]
    edits[number] = Edit(edit.start, edit.end, text.replace("\r\n", "\n"))
    said = _ADDED[gap.answer]
    message = finding.message if said in finding.message else f"{finding.message}. {said}"
    return replace(finding, edits=tuple(edits), applicability=Applicability.REVIEW, message=message)
