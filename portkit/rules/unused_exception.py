"""A comment in the source, or an exclusion in ``portkit.toml``, that excludes nothing.

``// portkit: exclude PK501 reason`` above an item excludes what PK501 finds there. In a manifest
the comment begins with ``#``. If it excludes nothing, names no code or gives no reason, it would
hide a later finding: fix it or remove it. A misspelt comment, such as ``// Portkit exclude``, is
reported too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from portkit.profiles.settings import NAME, Exclusion
from portkit.rules import DirectRule
from portkit.syntax.span import Span
from portkit.syntax.typed_toml import suggest_nearest
from portkit.workspace.exclusion_comments import MARK, VERBS, ExclusionComment
from portkit.workspace.finding import Applicability, Finding, Status


def check(
    unused: ExclusionComment | Exclusion, known: Sequence[str], paths: Collection[str]
) -> Iterator[Finding]:
    """Say why an exception excepts nothing."""
    unknown = next((c for c in unused.codes if not any(k.startswith(c) for k in known)), "")
    if isinstance(unused, ExclusionComment):
        why = _explain_comment(unused, unknown, known)
        yield _build_finding(
            unused.path, unused.span, "comment", f"it excludes nothing, since {why}"
        )
        return
    why = ": remove it"
    if unknown:
        near = suggest_nearest(unknown, known)
        why = f", since no code begins with {unknown}: `portkit rules` lists them{near}"
    elif lost := _find_idle_pattern(unused, paths):
        folders = sorted({path.partition("/")[0] for path in paths})
        near = suggest_nearest(lost.partition("/")[0], folders)
        why = f", since no file of the tree matches {lost!r}: correct it, or remove it{near}"
    yield _build_finding(
        NAME, Span(0, 0), "exclude", f"this [[exclude]] matches no finding{why}", unused.line
    )


def _find_idle_pattern(skip: Exclusion, paths: Collection[str]) -> str:
    """Return a pattern of an exclusion that no file matches, or nothing."""
    met = (any(fnmatchcase(path, pattern) for path in paths) for pattern in skip.paths)
    return next((p for p, found in zip(skip.paths, met, strict=True) if not found), "")


def _explain_comment(comment: ExclusionComment, unknown: str, known: Sequence[str]) -> str:
    codes = " or ".join(comment.codes)
    if comment.mark != MARK:
        return f"it begins with {comment.mark!r}: write `// {MARK} {VERBS[0]} PK501 reason`"
    if comment.verb not in VERBS:
        return f"there is no {comment.verb!r}: write `portkit: {VERBS[0]} PK501 reason`"
    if unknown:
        nearest = suggest_nearest(unknown, known)
        return f"there is no code {unknown}: `portkit rules` lists them{nearest}"
    if not codes:
        return "it names no code: write `portkit: exclude PK501 reason`"
    if not comment.reason:
        return f"it gives no reason: write why after {codes}"
    return f"there is no place of {codes} at the next item: take the comment away"


def _build_finding(path: str, span: Span, symbol: str, message: str, line: int = 0) -> Finding:
    return Finding(
        code="PK903",
        path=path,
        span=span,
        construct="exception",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.NONE,
        message=message,
        line=line,
    )


RULE = DirectRule("PK903", check)
