"""Places that a person has decided to leave alone: by a comment there, or in ``portkit.toml``.

``// portkit: keep PK501 reason`` above an item, above its attributes, or at the end of its line
keeps the findings with this code that begin there; several codes stand between commas. In a
manifest the comment begins with ``#``. What is kept stays in the reports with the reason. An
exception that excepts nothing is reported, since it would hide the next place that happens to fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from portkit.lang.span import Span
from portkit.profile.settings import NAME
from portkit.tree.finding import Applicability, Finding, Status, no_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.codebases.directory import Directory
    from portkit.lang.source import Source
    from portkit.profile.settings import Settings, Skip
    from portkit.scan.scan import Scan

UNUSED: Final = "PK903"
"""The code of an exception that excepts nothing."""
_VERB: Final = "keep"
_KEPT_BY: Final = "kept by "
_MARK: Final = b"portkit:"
_COMMENT: Final = re.compile(
    r"(?P<code>.*?)(?://+|#)\s*portkit:[ \t]*(?P<verb>\w*)[ \t]*"
    r"(?P<codes>P[KH]\d{3}(?:\s*,\s*P[KH]\d{3})*)?[ \t]*(?P<reason>.*?)\s*(?:\*/)?\s*"
)
_BETWEEN: Final = re.compile(r"\s*(?://|#|$)")
"""A line that may stand between a comment and its place: a comment, an attribute, nothing."""


@dataclass(frozen=True, slots=True)
class Kept:
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


def is_excepted(finding: Finding) -> bool:
    """Whether a person, and no rule or profile, has decided to leave a place alone."""
    return finding.detail.startswith(_KEPT_BY)


def with_exceptions(scan: Scan, settings: Settings) -> Scan:
    """Return the scan with what a person has decided to leave alone."""
    sources, own = scan.job.workspace.sources, scan.job.codebase.directory
    comments = [c for s in sources.values() if _MARK in s.data for c in _comments(s)]
    if not comments and not settings.skips:
        return scan
    used: set[Kept | Skip] = set()
    findings = [_excepted(scan, f, comments, settings.skips, used) for f in scan.findings]
    findings += (_unused(comment, own) for comment in comments if comment not in used)
    findings += (_unused_skip(skip, own) for skip in settings.skips if skip not in used)
    findings.sort(key=lambda f: (f.path, f.span, f.code, f.symbol))
    return replace(scan, findings=tuple(findings))


def _excepted(
    scan: Scan,
    finding: Finding,
    comments: Sequence[Kept],
    skips: Sequence[Skip],
    used: set[Kept | Skip],
) -> Finding:
    reasons: list[tuple[str, str]] = []
    here = [
        c
        for c in comments
        if c.path == finding.path and finding.code in c.codes and c.verb == _VERB
    ]
    if here:
        line, _ = scan.job.workspace.sources[finding.path].position(finding.span.start)
        for comment in here:
            if comment.first <= line <= comment.last and comment.reason:
                used.add(comment)
                reasons.append((comment.reason, f"{_KEPT_BY}a comment"))
    for skip in skips:
        if skip.applies(finding.code, finding.path):
            used.add(skip)
            reasons.append((skip.reason, f"{_KEPT_BY}line {skip.line} of {NAME}"))
    asks = finding.status is Status.TODO or finding.applicability in (
        Applicability.REVIEW,
        Applicability.MANUAL,
    )
    if not reasons or not asks:
        return finding
    standing = finding.status is Status.PORTED
    message, detail = reasons[0]
    return replace(
        finding,
        applicability=Applicability.KEEP,
        status=Status.PORTED if standing else Status.NONE,
        message=message,
        detail=detail,
        edits=(),
        files=no_files,
    )


def _comments(source: Source) -> Iterator[Kept]:
    lines = source.data.decode(errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        found = _COMMENT.fullmatch(line)
        if found is None:
            continue
        start = source.line_starts[number - 1]
        codes = tuple(re.findall(r"P[KH]\d{3}", found["codes"] or ""))
        first = last = number
        if not found["code"].strip():
            first = last = number + 1
            while last < len(lines) and _BETWEEN.match(lines[last - 1]):
                last += 1
        span = Span(start, start + len(line.encode()))
        yield Kept(source.path, span, codes, first, last, found["reason"], found["verb"])


def _unused(comment: Kept, own: Directory | None) -> Finding:
    codes = " or ".join(comment.codes)
    if comment.verb != _VERB:
        why = f"there is no {comment.verb!r}: write `portkit: {_VERB} PK501 reason`"
    elif unknown := _unknown(comment.codes, own):
        why = f"there is no code {unknown}: `portkit rules` lists them"
    elif not codes:
        why = "it names no code: write `portkit: keep PK501 reason`"
    elif not comment.reason:
        why = f"it gives no reason: write why after {codes}"
    else:
        why = f"there is no place of {codes} at the next item: take the comment away"
    return _finding(comment.path, comment.span, "comment", f"it keeps nothing, since {why}")


def _unknown(codes: Sequence[str], own: Directory | None) -> str:
    """Return the first code, or beginning of one, that no rule has; empty where all are known."""
    from portkit.scan.codes import every_page

    known = [page.code for page in every_page(own)]
    return next((c for c in codes if not any(k.startswith(c) for k in known)), "")


def _unused_skip(skip: Skip, own: Directory | None) -> Finding:
    unknown = _unknown(skip.codes, own)
    why = f"since no code begins with {unknown}: `portkit rules` lists them"
    said = f"the skip in line {skip.line} fits no place" + (
        f", {why}" if unknown else ": take it away"
    )
    return _finding(NAME, Span(0, 0), "skip", said)


def _finding(path: str, span: Span, symbol: str, message: str) -> Finding:
    return Finding(
        code=UNUSED,
        path=path,
        span=span,
        construct="exception",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.NONE,
        message=message,
    )
