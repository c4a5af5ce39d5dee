"""Exclusions: findings that you exclude by a comment or in ``portkit.toml``.

``// portkit: exclude PK501 reason`` above an item, above its attributes, or at the end of its line
excludes the findings with this code that begin there; several codes stand between commas. In a
manifest the comment begins with ``#``. What is kept stays in the reports with the reason. An
exception that excepts nothing is reported, since it would hide the next place that happens to fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from portkit.engine.scan import Scan, sort_key
from portkit.port.item_patches import ADJUST, OVERRIDE, REPAIR
from portkit.profiles.settings import NAME, Exclusion, Settings
from portkit.rules import unused_exception
from portkit.syntax.compressed_source import release_in_turn
from portkit.workspace import exclusion_comments
from portkit.workspace.exclusion_comments import ExclusionComment
from portkit.workspace.finding import Applicability, Finding, Status, no_files

NEEDS_DECISION: Final = (Applicability.REVIEW, Applicability.MANUAL)
"""What is for a person to see to."""


def is_written(finding: Finding) -> bool:
    """Whether the tree already has the ported code of a finding.

    What a copy has otherwise than CUDA's side goes with the copy.
    """
    return finding.status is Status.PORTED and finding.code not in (REPAIR, ADJUST)


def apply_exclusions(scan: Scan, settings: Settings) -> Scan:
    """Return the scan with the exclusions of the user."""
    sources = scan.job.workspace.sources
    comments = [
        c
        for s in release_in_turn(sources.values())
        for c in exclusion_comments.find_exclusion_comments(s)
    ]
    if not comments and not settings.skips:
        return scan
    keeping, used = _match_comments(scan, comments)
    findings = [
        _exclude_finding(f, keeping.get(number), settings.skips, used)
        for number, f in enumerate(scan.findings)
    ]
    exceptions: tuple[ExclusionComment | Exclusion, ...] = (*comments, *settings.skips)
    unused = [each for each in exceptions if each not in used]
    if unused:
        findings += _find_unused(unused, scan)
    findings.sort(key=sort_key)
    return replace(scan, findings=tuple(findings))


def _match_comments(
    scan: Scan, comments: Sequence[ExclusionComment]
) -> tuple[dict[int, ExclusionComment], set[ExclusionComment | Exclusion]]:
    """Return the comment that excludes each finding, by its number, and the used comments.

    Of several the first counts. Findings and comments are gone through side by side: a file may
    have many of both.
    """
    by_code: dict[tuple[str, str], list[ExclusionComment]] = {}
    for comment in comments:
        if comment.is_complete:
            for code in comment.codes:
                by_code.setdefault((comment.path, code), []).append(comment)
    lines: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for number, finding in enumerate(scan.findings):
        key = finding.path, finding.code
        if key in by_code:
            line, _ = scan.job.workspace.sources[finding.path].position(finding.span.start)
            lines.setdefault(key, []).append((line, number))
    keeping: dict[int, ExclusionComment] = {}
    used: set[ExclusionComment | Exclusion] = set()
    for key, found in lines.items():
        here, at = by_code[key], 0
        found.sort()
        for line, number in found:
            # What ends before this line keeps none of the later ones either.
            while at < len(here) and here[at].last < line:
                at += 1
            if at < len(here) and here[at].first <= line:
                keeping[number] = here[at]
        for comment in here:
            after = bisect_left(found, (comment.first, 0))
            if after < len(found) and found[after][0] <= comment.last:
                used.add(comment)
    return keeping, used


def _exclude_finding(
    finding: Finding,
    comment: ExclusionComment | None,
    skips: Sequence[Exclusion],
    used: set[ExclusionComment | Exclusion],
) -> Finding:
    reasons = [(comment.reason, "excluded by a comment")] if comment is not None else []
    for skip in skips:
        if skip.applies(finding.code, finding.path, finding.symbol):
            used.add(skip)
            reasons.append((skip.reason, f"excluded by line {skip.line} of {NAME}"))
    # What a copy has otherwise than CUDA's side is decided with the copy, and asks for nothing.
    of_copy = finding.code in (REPAIR, ADJUST)
    asks = of_copy or finding.status is Status.TODO or finding.applicability in NEEDS_DECISION
    if not reasons or not asks:
        return finding
    standing = is_written(finding)
    message, detail = reasons[0]
    if finding.replaces_error_arm:
        detail += "; its arm answers with an error"
    if standing:
        detail += "; what the port has written there stays until somebody takes it out"
    if of_copy:
        detail += f"; the copy is as the CUDA side is, without this: {finding.reason}"
    elif finding.code == OVERRIDE:
        detail += (
            "; the copy has the template all the same, which only an exclusion of the file removes"
        )
    kept = make_unchanged(finding, message, detail)
    return replace(kept, status=Status.PORTED) if standing else kept


def make_unchanged(finding: Finding, message: str, detail: str) -> Finding:
    """Return an excluded finding, which writes nothing, with the reason."""
    return replace(
        finding,
        applicability=Applicability.KEEP,
        status=Status.NONE,
        message=message,
        detail=detail,
        excluded=True,
        outdated=False,
        edits=(),
        files=no_files,
    )


def _find_unused(
    exceptions: Sequence[ExclusionComment | Exclusion], scan: Scan
) -> Iterator[Finding]:
    from portkit.engine.rule_pages import list_all_pages

    known = [page.code for page in list_all_pages(scan.job.codebase.directory)]
    paths = scan.job.workspace.sources.keys()
    for exception in exceptions:
        yield from unused_exception.check(exception, known, paths)
