"""What ``portkit apply`` says when it is done: what was written, and what a person should read."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from portkit.finding import Applicability, Status
from portkit.report.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.apply import Change
    from portkit.plan import Plan
    from portkit.report.model import Report, Site
    from portkit.report.terminal import Terminal


def applied(report: Report, plan: Plan, terminal: Terminal, *, written: bool = True) -> str:
    """Return the summary.

    Args:
        report: of the scan that the plan was made from, that is, of the tree before.
        plan: what was written, or would be.
        terminal: where it is read.
        written: whether the plan was carried out.
    """
    return "\n".join(_lines(report, plan, terminal, written=written)) + "\n"


def _lines(report: Report, plan: Plan, terminal: Terminal, *, written: bool) -> Iterator[str]:
    where = "" if report.root == "." else f" {report.root}"
    if report.unaccounted:
        mentions = _number(len(report.unaccounted), "backend mention")
        yield terminal.loud(
            f"UNACCOUNTED: {mentions} that no rule explains; `portkit scan{where}` lists them"
        )
    if not plan.changes:
        yield terminal.good(f"Nothing to write: {report.title} is ported to {report.vendor}.")
        return
    added = sum(change.before is None for change in plan.changes)
    places = _number(report.count(status=Status.TODO), "place")
    yield terminal.bold(
        f"{'Ported' if written else 'Would port'} {places} of {report.title} to {report.vendor}:"
        f" {_number(len(plan.changes) - added, 'file')} changed, {added} added"
    )
    if plan.unformatted:
        listed = ", ".join(plan.unformatted)
        text = f"Not formatted, because they were not before, or rustfmt refused: {listed}"
        yield from wrapped(text, terminal.width, "    ")
    yield from _left_to_a_person(report, plan, terminal)
    then = f"`git diff`, then `portkit verify{where}`" if written else f"`portkit apply{where}`"
    yield f"Next: {then}."


def _left_to_a_person(report: Report, plan: Plan, terminal: Terminal) -> Iterator[str]:
    changes = {change.path: change for change in plan.changes}
    for wanted, title in (
        (Applicability.MANUAL, "Left for a person to write"),
        (Applicability.REVIEW, "For a person to look at"),
    ):
        sites = [s for s in report.sites if s.applicability is wanted]
        if not sites:
            continue
        yield terminal.notable(f"{title} ({_number(len(sites), 'place')}):")
        grouped: dict[tuple[str, str], list[str]] = {}
        for site in sites:
            position = f"{site.path}:{_line_after(site, changes.get(site.path))}"
            grouped.setdefault((site.code, site.message), []).append(position)
        for (code, message), positions in sorted(grouped.items()):
            yield from wrapped(f"  {code} {message}", terminal.width, "      ")
            for position in positions:
                yield terminal.dim(f"      {position}")


def _line_after(site: Site, change: Change | None) -> int:
    """Return the line at which a place stands after a change to its file."""
    if change is None or change.before is None:
        return site.line
    before, after = change.before.split(b"\n"), change.after.split(b"\n")
    at = site.line - 1
    for _, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if i1 <= at < i2:
            return min(j1 + at - i1, max(j2 - 1, j1)) + 1
    return site.line


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
