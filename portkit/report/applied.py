"""What ``portkit apply`` says when it is done: what was written, and what a person should read."""

from __future__ import annotations

import functools
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.copying.differences import regenerating
from portkit.lang.shell import in_git
from portkit.report.beginning import summary_lines
from portkit.report.model import counted_noun, places
from portkit.report.settling import left_out
from portkit.report.table import grouped_places, sections
from portkit.report.terminal import wrapped
from portkit.tree.finding import Applicability, Status
from portkit.tree.git import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from portkit.report.model import Report, ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.scan.plan import Plan


def applied(
    report: Report,
    plan: Plan,
    terminal: Terminal,
    *,
    held: Held | None = None,
    left: int = 0,
    taken: Sequence[ReportedSite] = (),
    options: str = "",
    type_check: str = "",
) -> str:
    """Return the summary.

    Args:
        report: of the scan that the plan was made from, that is, of the tree before.
        plan: what was written, or would be.
        terminal: where it is read.
        held: how far git held the tree before the plan was carried out; None where it was not.
        left: how many places a person did not want written.
        taken: the places that were taken back, since the tree would not type-check with them.
        options: what ``portkit apply`` is to be told again, with a blank before.
        type_check: a sentence that says whether the result was type-checked.
    """
    following = _next(report, options, held)
    written = held is not None
    lines = [*_lines(report, plan, terminal, following, written=written, left=left)]
    at = max((i for i, line in enumerate(lines) if not line), default=len(lines))  # before "Next"
    if type_check:
        lines[at:at] = ["", *wrapped(type_check, terminal.width)]
    if taken:
        lines[at:at] = _taken_back(report, plan, taken, terminal)
    return "\n".join(lines) + "\n"


def headline(report: Report, plan: Plan, *, written: bool = True) -> str:
    """Return what was written, or would be, as a sentence; the arguments are ``applied``'s."""
    added = sum(change.before is None for change in plan.changes)
    todo = [site for site in report.sites if site.status is Status.TODO and not site.is_left_out]
    return (
        f"{'Ported' if written else 'Would port'} {report.title} to {report.platform}:"
        f" {places(todo)}; {counted_noun(len(plan.changes) - added, 'file')} changed, {added} added"
    )


def _lines(
    report: Report, plan: Plan, terminal: Terminal, following: str, *, written: bool, left: int
) -> Iterator[str]:
    where = report.tree
    if report.unaccounted:
        mentions = counted_noun(len(report.unaccounted), "backend mention")
        yield terminal.loud(
            f"UNACCOUNTED: {mentions} that no rule explains; `portkit scan{where}` lists them"
        )
    if not plan.changes and left:
        yield f"Nothing is written: {counted_noun(left, 'place')} left as asked."
        return
    if not plan.changes and report.partial:
        yield terminal.good(f"Nothing to write at the chosen places of {report.title}.")
        return
    if not plan.changes:
        yield terminal.good(f"Nothing to write: {report.title} is ported to {report.platform}.")
        if report.outdated:
            yield ""
            text = f"Next: {regenerating(report.outdated, report.tree)}."
            yield from map(terminal.bold, wrapped(text, terminal.width))
        return
    for line in wrapped(headline(report, plan, written=written), terminal.width):
        yield terminal.bold(line)
    for line in summary_lines(report):
        yield from wrapped(line, terminal.width, "  ")
    if errors := [site for site in report.sites if site.is_left_out]:
        text = f"{len(errors)} more left out: a match has no other arm there, so one answers with"
        text += f" an error: {', '.join(s.position for s in errors)}."
        yield from wrapped(text, terminal.width)
    if left:
        text = f"{counted_noun(left, 'place')} left as asked: until they are written too, the tree"
        text += f" may not compile; `portkit scan{where}` lists them, `portkit apply{where}` asks"
        yield from wrapped(f"{text} again.", terminal.width)
    elif report.partial:
        text = "Other places are left, without which the tree may not compile:"
        yield from wrapped(f"{text} `portkit scan{where}` lists them.", terminal.width)
    if plan.unformatted:
        listed = ", ".join(plan.unformatted)
        text = "Not formatted, because they were not before, or rustfmt refused or took too long: "
        text += listed
        yield from wrapped(text, terminal.width, "    ")
    yield from _left_to_a_person(report, plan, terminal)
    yield ""
    for line in wrapped(f"Next: {following}", terminal.width):
        yield terminal.bold(line)


def _next(report: Report, options: str, held: Held | None) -> str:
    where = report.tree
    if held is None:
        return (
            f"`portkit apply{where}{options}`{' with the same choice' if report.partial else ''}."
        )
    if report.outdated:
        return f"commit what is written; {regenerating(report.outdated, report.tree)}."
    git, proof = in_git(report.root), f"`portkit verify{where}` proves it"
    if held is Held.NOT:
        return f"{proof}."
    if held is Held.PART:
        # In the index, or in a stash, it would be one with what the user has changed.
        return f"`{git} status` shows it beside what was not committed before, {proof}."
    return (
        # Without the first, the second would not show the files that are new.
        f"`{git} add --all` and `{git} diff --cached` show it, {proof};"
        f" `{git} stash --include-untracked` takes it away again."
    )


def _left_to_a_person(report: Report, plan: Plan, terminal: Terminal) -> Iterator[str]:
    line_after = _lines_after(plan)
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    for title, sites in sections(s for s in report.sites if s.applicability in asking):
        moved = [replace(site, line=line_after(site.path, site.line)) for site in sites]
        heading = wrapped(f"{title} ({places(sites)})", terminal.width)
        yield from ("", *map(terminal.notable, heading))
        yield from grouped_places(moved, terminal)


def _taken_back(
    report: Report, plan: Plan, taken: Sequence[ReportedSite], terminal: Terminal
) -> Iterator[str]:
    line_after = _lines_after(plan)
    moved = [replace(site, line=line_after(site.path, site.line)) for site in taken]
    heading = f"Taken back: with it the tree does not type-check ({places(taken)})"
    yield from ("", *map(terminal.notable, wrapped(heading, terminal.width)))
    yield from grouped_places(moved, terminal)
    skips, comments = left_out(taken, report.sites, moved)
    if skips:
        yield "To leave it out from now on, in portkit.toml:"
        yield from "".join(skips).splitlines()
    if comments:
        yield "To leave it out from now on, above the place:"
        yield from comments


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
