"""Acceptances: ``portkit.review.toml`` against the findings of a scan.

A place is known again by its identity and a hash of its content: the statement that it is part of,
its counterpart, and what is written there. So a place comes back when upstream changes it, or when
the port would write something else. An identity has a number among its like, which moves when a
place before it goes: a content that no identity of its own claims counts for another place too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

from msgspec.structs import replace

from portkit.engine.exclusions import NEEDS_DECISION
from portkit.engine.scan import Scan, sort_key
from portkit.profiles.accepted_findings import NAME, Acceptance
from portkit.rules import idle_entry
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Status, identify_findings

_STATEMENTS: Final = frozenset(
    {
        *("block", "const_item", "expression_statement", "field_declaration", "if_expression"),
        *("let_declaration", "macro_invocation", "match_arm", "match_expression", "static_item"),
        "while_expression",
    }
)
"""What a person looks at where a place is part of it."""


def find_unreviewed(scan: Scan) -> list[tuple[str, Finding]]:
    """Return the findings that nobody has reviewed yet, with their identities.

    A line about a place that stands nowhere is none of them: the next writing leaves it away.
    """
    return [
        (identity, finding)
        for identity, finding in identify_findings(scan.findings)
        if finding.applicability in NEEDS_DECISION and finding.path != NAME
    ]


def apply_acceptances(scan: Scan, looked: Mapping[str, Acceptance]) -> Scan:
    """Return a scan in which accepted findings need no decision."""
    if not looked:
        return scan
    asked = {identity: hash_content(scan, finding) for identity, finding in find_unreviewed(scan)}
    known = _match_entries(asked, looked)
    findings = [
        _mark_accepted(finding)
        if place in known
        else (_mark_changed(finding) if place in looked and place in asked else finding)
        for place, finding in identify_findings(scan.findings)
    ]
    used = {*known.values(), *(place for place, _ in identify_findings(scan.findings))}
    findings += [
        idle_entry.report_lost_acceptance(NAME, entry.line, place)
        for place, entry in looked.items()
        if place not in used and _is_judged(scan, place)
    ]
    return replace(scan, findings=tuple(sorted(findings, key=sort_key)))


def accept_findings(
    scan: Scan, looked: Mapping[str, Acceptance], places: Collection[str]
) -> dict[str, Acceptance]:
    """Return the acceptances after some findings are accepted."""
    marks = {
        identity: (finding, hash_content(scan, finding))
        for identity, finding in identify_findings(scan.findings)
        if finding.looked_at or identity in places
    }
    before = _match_entries({p: mark for p, (f, mark) in marks.items() if f.looked_at}, looked)
    standing = {identity for identity, _ in identify_findings(scan.findings)} - {*marks}
    moved = {*before.values()}
    made = {
        place: entry
        for place, entry in looked.items()
        if place not in moved and (place in standing or not _is_judged(scan, place))
    }
    for place, (finding, mark) in marks.items():
        contents = looked[before[place]].content if place in before else (mark,)
        made[place] = Acceptance(f"{finding.path} {finding.symbol}", contents)
    return made


def carry_acceptances(
    before: Scan, after: Scan, looked: Mapping[str, Acceptance]
) -> dict[str, Acceptance]:
    """Return the acceptances after the port is written, with old and new content.

    What was accepted before it was written is not asked about again when it stands there, and not
    when the same tree is ported anew. Of a place that is none any more there is nothing to keep.
    """
    marks = {
        p: hash_content(before, f) for p, f in identify_findings(before.findings) if f.looked_at
    }
    made = accept_findings(before, looked, ())
    standing = dict(identify_findings(after.findings))
    for place, mark in marks.items():
        finding = standing.get(place)
        if finding is None:
            del made[place]
        elif finding.applicability in NEEDS_DECISION:
            contents = tuple(sorted({mark, hash_content(after, finding)}))
            made[place] = replace(made[place], content=contents)
    return made


def hash_content(scan: Scan, finding: Finding) -> str:
    """Return the hash of the content of a finding: the code there, and the edits."""
    source = scan.job.workspace.sources.get(finding.path)
    # What is asked is part of it: two defects may lie in one item.
    why = finding.reason or finding.message
    parts = [finding.code, finding.path, finding.construct, finding.symbol, why]
    if source is not None and finding.span.start < finding.span.end:
        spans = sorted({find_statement_span(source, finding.span), *finding.claims})
        parts += (source.text(span.start, span.end) for span in spans)
        for edit in finding.edits:
            parts += (source.text(edit.start, edit.end), edit.text)
        source.forget()
    if finding.status is Status.TODO:
        parts += (f"{file.path}\0{file.text}" for file in finding.files())
    # Git may write other line ends on another machine.
    whole = "\0".join(parts).replace("\r\n", "\n")
    return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()[:16]


def find_statement_span(source: SourceFile, span: Span) -> Span:
    """Return the statement or the branches around a place; the place itself if there is none."""
    if not source.path.endswith(".rs"):
        return span
    node = source.tree_around([span.start]).root_node.descendant_for_byte_range(
        span.start, span.end
    )
    while node is not None and node.type not in _STATEMENTS and not node.type.endswith("_item"):
        node = node.parent
    if node is None or node.type == "block" or node.parent is None:
        return span
    return Span(node.start_byte, max(node.end_byte, span.end))


def _match_entries(marks: Mapping[str, str], looked: Mapping[str, Acceptance]) -> dict[str, str]:
    """Return the entry that accepts each place, by the place's identity."""
    found = {
        place: place
        for place, mark in marks.items()
        if place in looked and mark in looked[place].content
    }
    free = {
        mark: place
        for place, entry in looked.items()
        if place not in found
        for mark in entry.content
    }
    for place, mark in marks.items():
        if place not in found and mark in free:
            found[place] = free.pop(mark)
    return found


def _mark_accepted(finding: Finding) -> Finding:
    """Return a finding as accepted."""
    nothing = finding.status is Status.NONE or finding.applicability is Applicability.MANUAL
    return replace(
        finding,
        applicability=Applicability.KEEP if nothing else Applicability.SAFE,
        status=Status.NONE if nothing else finding.status,
        message=f"{finding.message} (looked at)",
        reason=finding.reason or finding.message,
        looked_at=True,
        outdated=False,
    )


def _mark_changed(finding: Finding) -> Finding:
    return replace(
        finding,
        message=f"{finding.message}; it has changed since it was looked at",
        reason=finding.reason or finding.message,
    )


def _is_judged(scan: Scan, place: str) -> bool:
    """Whether this scan covers an identity; kernels are covered only on request."""
    return scan.job.kernels or not place.startswith("PH")
