"""The Markdown of ``portkit scan``: figures, decisions and what is left to a person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.report.model import (
    MEANINGS,
    State,
    by_state,
    counted,
    counted_noun,
    places,
    what_apply_writes,
)
from portkit.report.table import sections
from portkit.tree.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from portkit.report.model import Report, ReportedSite


def markdown(report: Report, *, source: bool = True) -> str:
    """Return the report, with a newline at its end.

    Args:
        report: what to write.
        source: whether lines of the tree's own text are part of it.
    """
    return "\n".join(_lines(report, source=source)) + "\n"


def _lines(report: Report, *, source: bool) -> Iterator[str]:
    yield f"# {report.title}: the port to {report.platform}"
    yield ""
    mentions = counted_noun(len(report.unaccounted), "backend mention")
    yield (
        f"{counted_noun(report.files, 'file')} looked at, {places(report.sites)}, with gating"
        f" `{report.gating}`. {mentions} unaccounted for. `portkit apply`"
        f" {what_apply_writes(report)}."
    )
    yield from _figures(report)
    yield from _by_rule(report)
    yield from _by_crate(report)
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    for title, sites in sections(s for s in report.sites if s.applicability in asking):
        yield from ("", f"## {title}", "")
        yield from _listed(sites)
    yield from _decisions(report)
    if report.unaccounted:
        yield from ("", "## Unaccounted", "")
        for mention in report.unaccounted:
            text = f": `{code(mention.text)}`" if source else ""
            yield f"- `{mention.path}:{mention.line}`{text}"


def _figures(report: Report) -> Iterator[str]:
    yield from ("", "## Figures", "")
    counts = by_state(report.sites)
    rows = [[state, MEANINGS[state], count] for state, count in counts.items()]
    yield from _table(("state", "meaning", "places"), [*rows, ["all", "", len(report.sites)]])


def _by_rule(report: Report) -> Iterator[str]:
    yield from ("", "## By construct", "")
    constructs = counted(report.sites, lambda site: f"{site.code}\0{site.construct}")
    rows = []
    for key, number in constructs.items():
        rule, construct = key.split("\0")
        rows.append([rule, _cell(construct), number])
    yield from _table(("rule", "construct", "places"), rows)


def _by_crate(report: Report) -> Iterator[str]:
    yield from ("", "## By crate", "")
    rows = []
    for path, sites in report.by_crate().items():
        rows.append([_cell(path), *by_state(sites).values(), len(sites)])
    rows.append(["all", *by_state(report.sites).values(), len(report.sites)])
    yield from _table(("crate", *State, "all"), rows)


def _decisions(report: Report) -> Iterator[str]:
    """Yield why places are kept, each reason once."""
    kept = [site for site in report.sites if site.state is State.KEPT]
    if not kept:
        return
    yield from ("", f"## Kept: {MEANINGS[State.KEPT]}", "")
    reasons = counted(kept, lambda site: f"{site.code}\0{site.reason or site.message}")
    rows = [[*map(_cell, key.split("\0")), number] for key, number in reasons.items()]
    yield from _table(("rule", "reason", "places"), rows)


def _listed(sites: Iterable[ReportedSite]) -> Iterator[str]:
    grouped: dict[tuple[str, str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (rule, construct, message), found in sorted(grouped.items()):
        yield f"- **{rule}** {escaped(construct)}: {escaped(message)}"
        for site in found:
            yield f"  - `{site.position}` `{code(site.symbol)}`"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(rows)
    numbers = [all(isinstance(row[i], int) for row in found) for i in range(len(header))]
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in found:
        yield f"| {' | '.join(map(str, row))} |"


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    r"""Escape what Markdown would take for a tag or emphasis; ``_`` inside a word is neither."""
    return re.sub(r"[\\`*<]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def code(text: str) -> str:
    """Return text that can stand between backticks."""
    return text.replace("`", "'")
