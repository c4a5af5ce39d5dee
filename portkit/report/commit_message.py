"""The message of a commit of a series: what, why, and how to check it, in the reports' words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.engine.rule_pages import list_all_pages
from portkit.report.model import State, count_noun, count_places
from portkit.report.terminal import wrap_text
from portkit.workspace.git_series import TRAILER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.report.model import Report, ReportedSite
    from portkit.report.series import Part

_WIDTH: Final = 72
_SHOWN: Final = 5
"""How many places of one reason are named."""


def render_messages(report: Report, parts: Sequence[Part]) -> Iterator[str]:
    """Yield the message of each part."""
    for number, part in enumerate(parts, 1):
        lines = _render_lines(report, part, f"{number}/{len(parts)}")
        yield "\n".join(line.rstrip() for line in lines) + "\n"


def render_subject(report: Report, part: Part) -> str:
    """Return the first line: ``ROCm: device and storage``."""
    title = part.phase.title if part.phase is not None else "What belongs to no phase"
    # An abbreviation keeps its letters.
    title = title if title[1:2].isupper() else title[:1].lower() + title[1:]
    return f"{report.platform}: {title}"


def _render_lines(report: Report, part: Part, number: str) -> Iterator[str]:
    yield render_subject(report, part)
    yield ""
    added = sum(change.before is None for change in part.changes)
    changed = len(part.changes) - added
    yield from wrap_text(
        f"{count_places(part.sites)} of the port of {report.title}:"
        f" {count_noun(changed, 'file')} changed, {added} added.",
        _WIDTH,
    )
    yield ""
    titles = {page.code: page.title for page in list_all_pages(report.directory)}
    grouped: dict[str, list[ReportedSite]] = {}
    for site in part.sites:
        grouped.setdefault(site.code, []).append(site)
    for code, sites in sorted(grouped.items()):
        why = titles.get(code, "").replace("``", "`")
        yield from wrap_text(f"- {code}, {count_noun(len(sites), 'place')}: {why}", _WIDTH, "  ")
    asked = [site for site in part.sites if site.state in (State.REVIEW, State.MANUAL)]
    if asked:
        yield from ("", "To be looked at:", "")
        yield from _render_reasons(asked)
    if part.errors:
        yield ""
        yield from wrap_text(
            f"{count_places(part.errors)} whose arm a later commit writes answer with an error"
            " until"
            " then, since a match must name every variant.",
            _WIDTH,
        )
    yield ""
    command = f" and `{part.phase.verify}`" if part.phase is not None else ""
    yield from wrap_text(
        "How to check it: rustfmt leaves it as it is; `portkit verify --series` type-checks this"
        f" commit with the feature and without{command} shows what it is for.",
        _WIDTH,
    )
    yield from ("", f"{TRAILER}: {number}")


def _render_reasons(sites: Sequence[ReportedSite]) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.message), []).append(site)
    for (code, message), found in sorted(grouped.items()):
        yield from wrap_text(f"- {code}: {message}", _WIDTH, "  ")
        for site in found[:_SHOWN]:
            # No line number: each commit shifts the lines.
            yield f"  {site.path} {site.symbol}"
        if len(found) > _SHOWN:
            yield f"  and {len(found) - _SHOWN} more"
