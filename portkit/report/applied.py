"""What ``portkit apply`` says when it is done: what was written, and what a person should read."""

from __future__ import annotations

import functools
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from portkit.finding import Applicability, Status
from portkit.report.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from portkit.plan import Plan
    from portkit.report.model import Report
    from portkit.report.terminal import Terminal


def applied(
    report: Report, plan: Plan, terminal: Terminal, *, written: bool = True, left: int = 0
) -> str:
    """Return the summary.

    Args:
        report: of the scan that the plan was made from, that is, of the tree before.
        plan: what was written, or would be.
        terminal: where it is read.
        written: whether the plan was carried out.
        left: how many places a person did not want written.
    """
    return "\n".join(_lines(report, plan, terminal, written=written, left=left)) + "\n"


def _lines(
    report: Report, plan: Plan, terminal: Terminal, *, written: bool, left: int
) -> Iterator[str]:
    where = "" if report.root == "." else f" {report.root}"
    if report.unaccounted:
        mentions = _number(len(report.unaccounted), "backend mention")
        yield terminal.loud(
            f"UNACCOUNTED: {mentions} that no rule explains; `portkit scan{where}` lists them"
        )
    if not plan.changes and left:
        yield f"Nothing is written: {_number(left, 'place')} left as asked."
        return
    if not plan.changes:
        yield terminal.good(f"Nothing to write: {report.title} is ported to {report.vendor}.")
        return
    added = sum(change.before is None for change in plan.changes)
    places = _number(report.count(status=Status.TODO), "place")
    yield terminal.bold(
        f"{'Ported' if written else 'Would port'} {places} of {report.title} to {report.vendor}:"
        f" {_number(len(plan.changes) - added, 'file')} changed, {added} added"
    )
    if left:
        yield f"{_number(left, 'place')} left as asked; `portkit scan{where}` lists them"
    if plan.unformatted:
        listed = ", ".join(plan.unformatted)
        text = f"Not formatted, because they were not before, or rustfmt refused: {listed}"
        yield from wrapped(text, terminal.width, "    ")
    yield from _left_to_a_person(report, plan, terminal)
    if written:
        git = "git diff" if report.root == "." else f"git -C {report.root} diff"
        yield f"Next: `{git}`, then `portkit verify{where}`."
    else:
        yield f"Next: `portkit apply{where}`."


def _left_to_a_person(report: Report, plan: Plan, terminal: Terminal) -> Iterator[str]:
    line_after = _lines_after(plan)
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
            position = f"{site.path}:{line_after(site.path, site.line)}"
            grouped.setdefault((site.code, site.message), []).append(position)
        for (code, message), positions in sorted(grouped.items()):
            yield from wrapped(f"  {code} {message}", terminal.width, "      ")
            for position in positions:
                yield terminal.dim(f"      {position}")


def _lines_after(plan: Plan) -> Callable[[str, int], int]:
    """Return a function from a path and a line before the changes to the line after them."""
    changes = {change.path: change for change in plan.changes}

    @functools.cache
    def blocks(path: str) -> Sequence[tuple[str, int, int, int, int]]:
        change = changes.get(path)
        if change is None or change.before is None:
            return ()
        before, after = change.before.split(b"\n"), change.after.split(b"\n")
        return SequenceMatcher(None, before, after).get_opcodes()

    def line_after(path: str, line: int) -> int:
        at = line - 1
        for _, i1, i2, j1, j2 in blocks(path):
            if i1 <= at < i2:
                return min(j1 + at - i1, max(j2 - 1, j1)) + 1
        return line

    return line_after


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
