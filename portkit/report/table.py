"""The table of ``portkit scan``: the state of a port on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.finding import Applicability, Status
from portkit.report.terminal import columns, shortened, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.report.model import Report, Site
    from portkit.report.terminal import Terminal

_HEADER: Final = ("Rule", "Construct", "to do", "ported", "review", "manual", "kept")


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
    lines.append("")
    lines += _counts(report, terminal)
    listed = [s for s in report.sites if everything or _wants_a_person(s)]
    for title, sites in _sections(listed):
        heading = f"{title} ({_places(len(sites))})"
        lines += ["", terminal.notable(heading), *grouped_places(sites, terminal)]
        if source:
            lines += _details(sites)
    lines += _unaccounted(report, terminal, source=source)
    lines += ["", *_next(report, terminal)]
    return "\n".join(lines) + "\n"


def _headline(report: Report) -> str:
    crates = f"{len(report.crates)} crate{'' if len(report.crates) == 1 else 's'}"
    return (
        f"{report.title}: {crates}, {report.files} files looked at, "
        f"{_places(len(report.sites))} for {report.vendor} (gating {report.gating})"
    )


def _column(site: Site) -> int:
    """Return the index of the column that counts a site; each site is in exactly one."""
    if site.status is Status.TODO:
        return 0
    if site.status is Status.PORTED:
        return 1
    return {Applicability.REVIEW: 2, Applicability.MANUAL: 3}.get(site.applicability, 4)


def _counts(report: Report, terminal: Terminal) -> Iterator[str]:
    constructs: dict[str, dict[str, int]] = {}
    counts: dict[str, list[int]] = {}
    for site in report.sites:
        named = constructs.setdefault(site.code, {})
        kind = site.construct.split(":")[0]
        named[kind] = named.get(kind, 0) + 1
        counts.setdefault(site.code, [0] * 5)[_column(site)] += 1
    rows = [list(_HEADER)]
    for code in sorted(counts):
        kinds = sorted(constructs[code], key=lambda kind: (-constructs[code][kind], kind))
        numbers = [str(n) if n else "" for n in counts[code]]
        rows.append([code, ", ".join(kinds), *numbers])
    total = [sum(column) for column in zip(*counts.values(), strict=True)] or [0] * 5
    rows.append(["", "total", *map(str, total)])
    first, *body, last = columns(rows, numbers=5, width=terminal.width)
    yield terminal.dim(first)
    yield from body
    yield terminal.bold(last)


def _wants_a_person(site: Site) -> bool:
    return site.applicability in (Applicability.REVIEW, Applicability.MANUAL)


def _sections(sites: Iterable[Site]) -> Iterator[tuple[str, list[Site]]]:
    titles: dict[str, list[Site]] = {
        "Manual: a person must write this": [],
        "Review: a person should look at this": [],
        "To do": [],
        "Ported": [],
        "Kept: left alone on purpose": [],
    }
    manual, review, todo, ported, kept = titles.values()
    for site in sites:
        if site.applicability is Applicability.MANUAL:
            manual.append(site)
        elif site.applicability is Applicability.REVIEW:
            review.append(site)
        elif site.status is Status.TODO:
            todo.append(site)
        elif site.status is Status.PORTED:
            ported.append(site)
        else:
            kept.append(site)
    yield from ((title, found) for title, found in titles.items() if found)


def grouped_places(sites: Iterable[Site], terminal: Terminal) -> Iterator[str]:
    """Yield the places, those of one rule and one reason together."""
    grouped: dict[tuple[str, str, str], list[Site]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (code, construct, message), found in sorted(grouped.items()):
        yield from wrapped(f"  {code} {construct}: {message}", terminal.width, "      ")
        rows = [[site.position, site.symbol] for site in found]
        for line in columns(rows, width=terminal.width, indent="      "):
            yield terminal.dim(line)


def _details(sites: Iterable[Site]) -> Iterator[str]:
    """Yield what a place has to show, such as what upstream has changed."""
    for site in sites:
        if site.detail:
            yield from ("", f"    {site.position}  {site.symbol}")
            yield from (f"      {line}" for line in site.detail.splitlines())


def _unaccounted(report: Report, terminal: Terminal, *, source: bool) -> Iterator[str]:
    if not report.unaccounted:
        return
    number = len(report.unaccounted)
    mentions = f"{number} backend mention{'' if number == 1 else 's'}"
    yield ""
    yield terminal.loud(f"UNACCOUNTED: {mentions} that no rule explains")
    for mention in report.unaccounted:
        text = f"  {mention.text}" if source else ""
        yield shortened(f"    {mention.path}:{mention.line}{text}", terminal.width)


def _next(report: Report, terminal: Terminal) -> list[str]:
    """Return what to do now, as the last lines."""
    where = "" if report.root == "." else f" {report.root}"
    todo = report.count(status=Status.TODO)
    if todo:
        review = report.count(status=Status.TODO, applicability=Applicability.REVIEW)
        looked = f", {review} of them for a person to look at" if review else ""
        text = (
            f"Next: `portkit apply{where}` writes what {_places(todo)} lack{looked}; "
            "with --diff it only shows the changes."
        )
        page = f"In a browser: `portkit scan{where} --format html --output report.html`."
        lines = [terminal.bold(line) for line in wrapped(text, terminal.width)]
        return [*lines, *wrapped(page, terminal.width)]
    if report.unaccounted:
        text = "Next: give each mention above a rule, or an entry in the profile that keeps it."
        return [terminal.loud(line) for line in wrapped(text, terminal.width)]
    text = f"Nothing to do: every place has its counterpart. Next: `portkit verify{where}`."
    return [terminal.good(line) for line in wrapped(text, terminal.width)]


def _places(number: int) -> str:
    return f"{number} place{'' if number == 1 else 's'}"
