"""The Markdown of ``portkit scan``: figures, decisions and what is left to a person."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.report.beginning import needing, summary_lines
from portkit.report.model import (
    MEANINGS,
    State,
    by_state,
    counted,
    counted_noun,
    places,
    what_apply_writes,
)
from portkit.report.settling import decisions
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
    yield f"- {needing(report)}"
    yield from (f"- {escaped(line)}" for line in summary_lines(report))
    yield ""
    mentions = counted_noun(len(report.unaccounted), "backend mention")
    yield (
        f"{counted_noun(report.files, 'file')} looked at, {places(report.sites)}, with gating"
        f" `{report.gating}`. {mentions} unaccounted for. `portkit apply`"
        f" {what_apply_writes(report)}."
    )
    # What asks something of a person comes before what portkit does by itself.
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    for title, sites in sections(s for s in report.sites if s.applicability in asking):
        yield from ("", f"## {title}", "")
        yield from listed(sites)
    yield from _settling(report)
    yield from _figures(report)
    yield from _by_rule(report)
    yield from _by_crate(report)
    yield from _decisions(report)
    if report.unaccounted:
        yield from ("", "## Unaccounted", "")
        for mention in report.unaccounted:
            text = f": `{code(mention.text)}`" if source else ""
            yield f"- `{mention.path}:{mention.line}`{text}"


def _figures(report: Report) -> Iterator[str]:
    yield from ("", "## Figures", "")
    counts = by_state(report.sites)
    rows = [[state.word, MEANINGS[state], count] for state, count in counts.items()]
    yield from markdown_table(
        ("state", "meaning", "places"), [*rows, ["all", "", len(report.sites)]]
    )


def _by_rule(report: Report) -> Iterator[str]:
    yield from ("", "## By construct", "")
    constructs = counted(report.sites, lambda site: f"{site.code}\0{site.construct}")
    rows = []
    for key, number in constructs.items():
        rule, construct = key.split("\0")
        rows.append([rule, cell(construct), number])
    yield from markdown_table(("rule", "construct", "places"), rows)


def _by_crate(report: Report) -> Iterator[str]:
    yield from ("", "## By crate", "")
    rows = []
    for path, sites in report.by_crate().items():
        rows.append([cell(path), *by_state(sites).values(), len(sites)])
    rows.append(["all", *by_state(report.sites).values(), len(report.sites)])
    yield from markdown_table(("crate", *(state.word for state in State), "all"), rows)


def _settling(report: Report) -> Iterator[str]:
    """Yield what settles places that are to be looked at, to be copied."""
    found = decisions(report.sites)
    if found:
        yield from ("", "Decisions for `portkit.toml`, each with your reason, settle some of them:")
        yield from ("", "```toml", *"\n".join(found).splitlines(), "```")


def _decisions(report: Report) -> Iterator[str]:
    kept = [site for site in report.sites if site.state is State.KEPT]
    if kept:
        yield from ("", f"## No change: {MEANINGS[State.KEPT]}", "")
        yield from reasons(kept)


def reasons(kept: Iterable[ReportedSite]) -> Iterator[str]:
    """Yield a table of why places are kept, each reason once."""
    found = counted(kept, lambda site: f"{site.code}\0{site.reason or site.message}")
    rows = [[*map(cell, key.split("\0")), number] for key, number in found.items()]
    yield from markdown_table(("rule", "reason", "places"), rows)


def listed(sites: Iterable[ReportedSite], shown: int | None = None) -> Iterator[str]:
    """Yield places in a list, those of one rule and one reason together.

    Args:
        sites: the places.
        shown: how many places of one reason are named; all by default.
    """
    grouped: dict[tuple[str, str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (rule, construct, message), found in sorted(grouped.items()):
        yield f"- **{rule}** {escaped(construct)}: {escaped(message)}"
        named = [*dict.fromkeys(f"`{site.position}` `{code(site.symbol)}`" for site in found)]
        for name in named[:shown]:
            yield f"  - {name}"
        if more := len(named[shown:]) if shown is not None else 0:
            yield f"  - and {more} more"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table, its numbers to the right."""
    found = list(rows)
    numbers = [all(isinstance(row[i], int) for row in found) for i in range(len(header))]
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in found:
        yield f"| {' | '.join(map(str, row))} |"


def cell(text: str) -> str:
    """Return text that can stand in a table."""
    return escaped(text).replace("|", "\\|")


def escaped(text: str) -> str:
    r"""Escape what Markdown would take for a tag or emphasis; ``_`` inside a word is neither."""
    return re.sub(r"[\\`*<]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def code(text: str) -> str:
    """Return text that can stand between backticks."""
    return text.replace("`", "'")
