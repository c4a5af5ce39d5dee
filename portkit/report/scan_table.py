"""The table of ``portkit scan``: the state of a port on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.port.drift import explain_regeneration
from portkit.report.decisions import find_fixes, group_decisions
from portkit.report.model import (
    MEANINGS,
    State,
    count_noun,
    count_other_reviews,
    count_places,
    count_states,
    describe_writes,
)
from portkit.report.scan_summary import count_needs, render_summary
from portkit.report.terminal import align_columns, align_locations, shorten_text, wrap_text
from portkit.workspace.finding import Applicability, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from portkit.report.model import Report, ReportedSite
    from portkit.report.terminal import Terminal

_HEADER: Final = ("Rule", "Construct", *(state.word for state in State))


def render_table(
    report: Report, terminal: Terminal, *, everything: bool = False, source: bool = True
) -> str:
    """Return the table."""
    lines = [terminal.bold(line) for line in wrap_text(_render_headline(report), terminal.width)]
    for line in render_summary(report):
        lines += wrap_text(line, terminal.width, "  ")
    fixes = () if everything else find_fixes(report)
    listed = [s for s in report.sites if everything or _requires_person(s)]
    for title, sites in group_by_state(s for s in listed if s not in fixes):
        number = len(group_decisions(sites))
        together = f", {count_noun(number, 'decision')}" if number < len(sites) else ""
        heading = f"{title} ({count_places(sites)}{together})"
        lines += ["", *map(terminal.notable, wrap_text(heading, terminal.width))]
        lines += render_grouped(sites, terminal)
        if source:
            lines += _render_details(sites)
    lines += render_fixes(fixes, report.tree, terminal)
    lines += ["", *_render_counts(report, terminal)]
    lines += _render_unaccounted(report, terminal, source=source)
    lines += ["", *_render_next_steps(report, terminal)]
    return "\n".join(lines) + "\n"


def _render_headline(report: Report) -> str:
    crates, files = count_noun(len(report.crates), "crate"), count_noun(report.files, "file")
    behind = ", with everything behind its feature (gating cfg)" if report.gating == "cfg" else ""
    return (
        f"{report.title}: {count_needs(report)} ({crates}, {files} looked at,"
        f" {count_places(report.sites)}){behind}"
    )


def _render_counts(report: Report, terminal: Terminal) -> Iterator[str]:
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
        numbers = [str(n) if n else "" for n in count_states(grouped[code]).values()]
        rows.append([code, ", ".join(kinds), *numbers])
    rows.append(["", "total", *map(str, count_states(report.sites).values())])
    first, *body, last = align_columns(rows, numbers=len(State), width=terminal.width)
    yield terminal.dim(first)
    yield from body
    yield terminal.bold(last)


def _requires_person(site: ReportedSite) -> bool:
    return site.applicability in (Applicability.REVIEW, Applicability.MANUAL)


def group_by_state(sites: Iterable[ReportedSite]) -> Iterator[tuple[str, list[ReportedSite]]]:
    """Yield the sites of each state that any is in, under a title."""
    grouped: dict[State, list[ReportedSite]] = {state: [] for state in State}
    for site in sites:
        grouped[site.state].append(site)
    for state, found in grouped.items():
        if found:
            yield f"{state.word.capitalize()}: {MEANINGS[state]}", found


def render_grouped(sites: Iterable[ReportedSite], terminal: Terminal) -> Iterator[str]:
    """Yield the findings, grouped by rule and reason."""
    grouped: dict[tuple[str, str, str], list[ReportedSite]] = {}
    for site in sites:
        grouped.setdefault((site.code, site.construct, site.message), []).append(site)
    for (code, construct, message), found in sorted(grouped.items()):
        yield from wrap_text(f"  {code} {construct}: {message}", terminal.width, "      ")
        rows = [(site.position, site.symbol) for site in found]
        for line in align_locations(rows, width=terminal.width, indent="      "):
            yield terminal.dim(line)


def _render_details(sites: Iterable[ReportedSite]) -> Iterator[str]:
    for site in sites:
        if site.detail:
            yield from ("", f"    {site.position}  {site.symbol}")
            yield from (f"      {line}" for line in site.detail.splitlines())


def render_fixes(fixes: Sequence[ReportedSite], tree: str, terminal: Terminal) -> Iterator[str]:
    """Yield how many fixes of upstream's code the copies have, and the command that lists them."""
    if not fixes:
        return
    heading = f"Upstream {'fix' if len(fixes) == 1 else 'fixes'} to read ({len(fixes)})"
    text = "  The ROCm copies fix these bugs of the CUDA code, which stays as it is."
    inside = " --kernels" if any(site.in_kernels for site in fixes) else ""
    text += f" `portkit review{tree} --list{inside}`"
    yield from ("", *map(terminal.notable, wrap_text(heading, terminal.width)))
    yield from wrap_text(f"{text} lists each.", terminal.width, "  ")


def _render_unaccounted(report: Report, terminal: Terminal, *, source: bool) -> Iterator[str]:
    if not report.unaccounted:
        return
    mentions = count_noun(len(report.unaccounted), "backend mention")
    yield ""
    yield terminal.loud(f"UNACCOUNTED: {mentions} that no rule explains")
    for mention in report.unaccounted:
        text = f"  {mention.text}" if source else ""
        yield shorten_text(f"    {mention.path}:{mention.line}{text}", terminal.width)


def _render_next_steps(report: Report, terminal: Terminal) -> list[str]:
    where = report.tree
    if report.count(status=Status.TODO) and report.obstacle:
        text = f"`portkit apply` refuses: {report.obstacle}."
        return [terminal.bold(line) for line in wrap_text(text, terminal.width)]
    if report.outdated:
        text = f"Next: {explain_regeneration(report.outdated, report.tree)}."
        return [terminal.bold(line) for line in wrap_text(text, terminal.width)]
    if report.count(status=Status.TODO):
        alike = " with the same choice" if report.partial else ""
        fixed, bare = count_other_reviews(report)
        writes = describe_writes(report, others=not fixed)
        text = (
            f"Next: `portkit apply{where}`{alike} {writes}; with --diff it only shows the changes,"
            " with --diff --stat how many lines they are."
        )
        page = f"In a browser: `portkit scan{where} --format html --output report.html`."
        lines = [terminal.bold(line) for line in wrap_text(text, terminal.width)]
        if fixed:
            lines += _render_other_reviews(fixed, bare)
        return [*lines, *wrap_text(page, terminal.width)]
    if report.unaccounted:
        text = "Next: give each mention above a rule, or an entry in the profile that keeps it."
        return [terminal.loud(line) for line in wrap_text(text, terminal.width)]
    return [
        terminal.good(line) for line in wrap_text(_render_completion(report, where), terminal.width)
    ]


def _render_other_reviews(fixed: int, bare: int) -> Iterator[str]:
    wide = len(str(max(fixed, bare)))
    yield f"The other {count_noun(fixed + bare, 'place')} for review:"
    yield f"  {fixed:>{wide}} fixed in the ROCm copies, upstream's code untouched"
    if bare:
        yield f"  {bare:>{wide}} left as {'it is' if bare == 1 else 'they are'}"


def _render_completion(report: Report, where: str) -> str:
    if report.partial and not report.sites:
        return "No place here has one of the chosen codes."
    asked = sum(map(_requires_person, report.sites))
    if asked:
        text = f"the {count_noun(asked, 'finding')} above {'is' if asked == 1 else 'are'}"
        unseen = ", and so may be some in the sources of kernels, which --kernels lists"
        text = f"Nothing is left for `portkit apply`; {text} for you"
        text += f"{unseen if report.unseen else ''}."
    elif report.unseen:
        text = "Nothing is left outside the sources of kernels, into which --kernels looks."
    else:
        text = "Nothing is left: every place has its counterpart."
    return text if report.partial else f"{text} Next: `portkit verify{where}`."
