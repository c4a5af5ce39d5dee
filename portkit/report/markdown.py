"""The Markdown report of ``portkit scan``: manual work, decisions and figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.report.decision_entries import render_decisions
from portkit.report.model import (
    MEANINGS,
    State,
    count_by,
    count_noun,
    count_places,
    count_states,
    describe_writes,
)
from portkit.report.scan_summary import count_needs, render_summary
from portkit.report.scan_table import group_by_state
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from portkit.report.model import Report, ReportedSite


def render_markdown(report: Report, *, source: bool = True) -> str:
    """Return the report, with a newline at its end."""
    return "\n".join(_render_lines(report, source=source)) + "\n"


def _render_lines(report: Report, *, source: bool) -> Iterator[str]:
    yield f"# {report.title}: the port to {report.platform}"
    yield ""
    yield f"- {count_needs(report)}"
    yield from (f"- {escape_markdown(line)}" for line in render_summary(report))
    yield ""
    mentions = count_noun(len(report.unaccounted), "backend mention")
    yield (
        f"{count_noun(report.files, 'file')} looked at, {count_places(report.sites)}, with gating"
        f" `{report.gating}`. {mentions} unaccounted for. `portkit apply`"
        f" {describe_writes(report)}."
    )
    # What asks something of a person comes before what portkit does by itself.
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    for title, sites in group_by_state(s for s in report.sites if s.applicability in asking):
        yield from ("", f"## {title}", "")
        yield from render_sites(sites)
    yield from _render_entries(report)
    yield from _render_figures(report)
    yield from _render_rules(report)
    yield from _render_crates(report)
    yield from _render_decisions(report)
    if report.unaccounted:
        yield from ("", "## Unaccounted", "")
        for mention in report.unaccounted:
            text = f": `{escape_code(mention.text)}`" if source else ""
            yield f"- `{mention.path}:{mention.line}`{text}"


def _render_figures(report: Report) -> Iterator[str]:
    yield from ("", "## Figures", "")
    counts = count_states(report.sites)
    rows = [[state.word, MEANINGS[state], count] for state, count in counts.items()]
    yield from render_markdown_table(
        ("state", "meaning", "places"), [*rows, ["all", "", len(report.sites)]]
    )


def _render_rules(report: Report) -> Iterator[str]:
    yield from ("", "## By construct", "")
    constructs = count_by(report.sites, lambda site: f"{site.code}\0{site.construct}")
    rows = []
    for key, number in constructs.items():
        rule, construct = key.split("\0")
        rows.append([rule, escape_cell(construct), number])
    yield from render_markdown_table(("rule", "construct", "places"), rows)


def _render_crates(report: Report) -> Iterator[str]:
    yield from ("", "## By crate", "")
    rows = []
    for path, sites in report.group_by_crate().items():
        rows.append([escape_cell(path), *count_states(sites).values(), len(sites)])
    rows.append(["all", *count_states(report.sites).values(), len(report.sites)])
    yield from render_markdown_table(("crate", *(state.word for state in State), "all"), rows)


def _render_entries(report: Report) -> Iterator[str]:
    found = render_decisions(report.sites)
    if found:
        yield from ("", "Decisions for `portkit.toml`, each with your reason, settle some of them:")
        yield from ("", "```toml", *"\n".join(found).splitlines(), "```")


def _render_decisions(report: Report) -> Iterator[str]:
    kept = [site for site in report.sites if site.state is State.KEPT]
    if kept:
        yield from ("", f"## No change: {MEANINGS[State.KEPT]}", "")
        yield from render_reasons(kept)


def render_reasons(kept: Iterable[ReportedSite]) -> Iterator[str]:
    """Yield a table of the reasons for no change."""
    found = count_by(kept, lambda site: f"{site.code}\0{site.reason or site.message}")
    rows = [[*map(escape_cell, key.split("\0")), number] for key, number in found.items()]
    yield from render_markdown_table(("rule", "reason", "places"), rows)


def render_sites(sites: Iterable[ReportedSite], shown: int | None = None) -> Iterator[str]:
    """Yield a list of findings, grouped by rule and reason."""
    grouped: dict[tuple[str, str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (rule, construct, message), found in sorted(grouped.items()):
        yield f"- **{rule}** {escape_markdown(construct)}: {escape_markdown(message)}"
        named = [
            *dict.fromkeys(f"`{site.position}` `{escape_code(site.symbol)}`" for site in found)
        ]
        for name in named[:shown]:
            yield f"  - {name}"
        if more := len(named[shown:]) if shown is not None else 0:
            yield f"  - and {more} more"


def render_markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table, its numbers to the right."""
    found = list(rows)
    numbers = [all(isinstance(row[i], int) for row in found) for i in range(len(header))]
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in found:
        yield f"| {' | '.join(map(str, row))} |"


def escape_cell(text: str) -> str:
    """Escape text for a table."""
    return escape_markdown(text).replace("|", "\\|")


def escape_markdown(text: str) -> str:
    r"""Escape tags and emphasis of Markdown; ``_`` inside a word is neither."""
    return re.sub(r"[\\`*<]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def escape_code(text: str) -> str:
    """Escape text between backticks."""
    return text.replace("`", "'")
