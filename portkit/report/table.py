"""The table of ``portkit scan``: the state of a port on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.copying.differences import regenerating
from portkit.report.beginning import needing, summary_lines
from portkit.report.model import (
    MEANINGS,
    State,
    by_state,
    counted_noun,
    other_reviews,
    places,
    what_apply_writes,
)
from portkit.report.terminal import columns, located, shortened, wrapped
from portkit.tree.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.report.model import Report, ReportedSite
    from portkit.report.terminal import Terminal

_HEADER: Final = ("Rule", "Construct", *(state.word for state in State))


def table(
    report: Report, terminal: Terminal, *, everything: bool = False, source: bool = True
) -> str:
    """Return the table.

    Args:
        report: what to show.
        terminal: where it is read.
        everything: list the places that are mechanical or kept as well.
        source: show the lines that hold unaccounted mentions.
    """
    lines = [terminal.bold(line) for line in wrapped(_headline(report), terminal.width)]
    for line in summary_lines(report):
        lines += wrapped(line, terminal.width, "  ")
    lines.append("")
    lines += _counts(report, terminal)
    listed = [s for s in report.sites if everything or _wants_a_person(s)]
    for title, sites in sections(listed):
        heading = f"{title} ({places(sites)})"
        lines += ["", *map(terminal.notable, wrapped(heading, terminal.width))]
        lines += grouped_places(sites, terminal)
        if source:
            lines += _details(sites)
    lines += _unaccounted(report, terminal, source=source)
    lines += ["", *_next(report, terminal)]
    return "\n".join(lines) + "\n"


def _headline(report: Report) -> str:
    crates, files = counted_noun(len(report.crates), "crate"), counted_noun(report.files, "file")
    behind = ", with everything behind its feature (gating cfg)" if report.gating == "cfg" else ""
    return (
        f"{report.title}: {needing(report)} ({crates}, {files} looked at,"
        f" {places(report.sites)}){behind}"
    )


def _counts(report: Report, terminal: Terminal) -> Iterator[str]:
    constructs: dict[str, dict[str, int]] = {}
    grouped: dict[str, list[ReportedSite]] = {}
    for site in report.sites:
        named = constructs.setdefault(site.code, {})
        kind = site.construct.split(":")[0]
        named[kind] = named.get(kind, 0) + 1
        grouped.setdefault(site.code, []).append(site)
    rows = [list(_HEADER)]
    for code in sorted(grouped):
        kinds = sorted(constructs[code], key=lambda kind: (-constructs[code][kind], kind))
        numbers = [str(n) if n else "" for n in by_state(grouped[code]).values()]
        rows.append([code, ", ".join(kinds), *numbers])
    rows.append(["", "total", *map(str, by_state(report.sites).values())])
    first, *body, last = columns(rows, numbers=len(State), width=terminal.width)
    yield terminal.dim(first)
    yield from body
    yield terminal.bold(last)


def _wants_a_person(site: ReportedSite) -> bool:
    return site.applicability in (Applicability.REVIEW, Applicability.MANUAL)


def sections(sites: Iterable[ReportedSite]) -> Iterator[tuple[str, list[ReportedSite]]]:
    """Yield the sites of each state that any is in, under a title."""
    grouped: dict[State, list[ReportedSite]] = {state: [] for state in State}
    for site in sites:
        grouped[site.state].append(site)
    for state, found in grouped.items():
        if found:
            yield f"{state.word.capitalize()}: {MEANINGS[state]}", found


def grouped_places(sites: Iterable[ReportedSite], terminal: Terminal) -> Iterator[str]:
    """Yield the places, those of one rule and one reason together."""
    grouped: dict[tuple[str, str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (code, construct, message), found in sorted(grouped.items()):
        yield from wrapped(f"  {code} {construct}: {message}", terminal.width, "      ")
        rows = [(site.position, site.symbol) for site in found]
        for line in located(rows, width=terminal.width, indent="      "):
            yield terminal.dim(line)


def _details(sites: Iterable[ReportedSite]) -> Iterator[str]:
    """Yield what a place has to show, such as what upstream has changed."""
    for site in sites:
        if site.detail:
            yield from ("", f"    {site.position}  {site.symbol}")
            yield from (f"      {line}" for line in site.detail.splitlines())


def _unaccounted(report: Report, terminal: Terminal, *, source: bool) -> Iterator[str]:
    if not report.unaccounted:
        return
    mentions = counted_noun(len(report.unaccounted), "backend mention")
    yield ""
    yield terminal.loud(f"UNACCOUNTED: {mentions} that no rule explains")
    for mention in report.unaccounted:
        text = f"  {mention.text}" if source else ""
        yield shortened(f"    {mention.path}:{mention.line}{text}", terminal.width)


def _next(report: Report, terminal: Terminal) -> list[str]:
    """Return what to do now, as the last lines."""
    where = report.tree
    if report.count(status=Status.TODO) and report.obstacle:
        text = f"`portkit apply` refuses: {report.obstacle}."
        return [terminal.bold(line) for line in wrapped(text, terminal.width)]
    if report.outdated:
        text = f"Next: {regenerating(report.outdated, report.tree)}."
        return [terminal.bold(line) for line in wrapped(text, terminal.width)]
    if report.count(status=Status.TODO):
        alike = " with the same choice" if report.partial else ""
        fixed, bare = other_reviews(report)
        writes = what_apply_writes(report, others=not fixed)
        text = (
            f"Next: `portkit apply{where}`{alike} {writes}; with --diff it only shows the changes."
        )
        page = f"In a browser: `portkit scan{where} --format html --output report.html`."
        lines = [terminal.bold(line) for line in wrapped(text, terminal.width)]
        if fixed:
            lines += _other_reviews(fixed, bare)
        return [*lines, *wrapped(page, terminal.width)]
    if report.unaccounted:
        text = "Next: give each mention above a rule, or an entry in the profile that keeps it."
        return [terminal.loud(line) for line in wrapped(text, terminal.width)]
    return [terminal.good(line) for line in wrapped(_nothing_left(report, where), terminal.width)]


def _other_reviews(fixed: int, bare: int) -> Iterator[str]:
    """Yield what becomes of the places for review that are not written, a line for each."""
    wide = len(str(max(fixed, bare)))
    yield f"The other {counted_noun(fixed + bare, 'place')} for review:"
    yield f"  {fixed:>{wide}} fixed in the ROCm copies, upstream's code untouched"
    if bare:
        yield f"  {bare:>{wide}} left as {'it is' if bare == 1 else 'they are'}"


def _nothing_left(report: Report, where: str) -> str:
    if report.partial and not report.sites:
        return "No place here has one of the chosen codes."
    asked = sum(map(_wants_a_person, report.sites))
    if asked:
        text = f"the {counted_noun(asked, 'place')} above {'is' if asked == 1 else 'are'}"
        unseen = ", and so may be some in the sources of kernels, which --kernels lists"
        text = f"Nothing is left for `portkit apply`; {text} for a person"
        text += f"{unseen if report.unseen else ''}."
    elif report.unseen:
        text = "Nothing is left outside the sources of kernels, into which --kernels looks."
    else:
        text = "Nothing is left: every place has its counterpart."
    return text if report.partial else f"{text} Next: `portkit verify{where}`."
