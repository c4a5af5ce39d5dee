"""The summary of ``portkit apply``: the written changes, and the findings to review."""

from __future__ import annotations

import functools
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec.structs import replace

from portkit.port.drift import explain_regeneration
from portkit.report.decision_entries import render_exclusions
from portkit.report.decisions import find_fixes, is_fix
from portkit.report.model import count_noun, count_places
from portkit.report.scan_summary import render_summary
from portkit.report.scan_table import group_by_state, render_fixes, render_grouped
from portkit.report.terminal import wrap_text
from portkit.syntax.shell import git_command
from portkit.workspace.finding import Applicability, Status
from portkit.workspace.git import GitState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from portkit.engine.plan import Plan
    from portkit.report.model import Report, ReportedSite
    from portkit.report.terminal import Terminal


def render_apply_summary(
    report: Report,
    plan: Plan,
    terminal: Terminal,
    *,
    held: GitState | None = None,
    left: int = 0,
    taken: Sequence[ReportedSite] = (),
    options: str = "",
    type_check: str = "",
) -> str:
    """Return the summary."""
    following = _render_next_steps(report, options, held)
    written = held is not None
    lines = [*_render_lines(report, plan, terminal, following, written=written, left=left)]
    at = max((i for i, line in enumerate(lines) if not line), default=len(lines))  # before "Next"
    if type_check:
        lines[at:at] = ["", *wrap_text(type_check, terminal.width)]
    if taken:
        lines[at:at] = _render_reverted(report, plan, taken, terminal)
    return "\n".join(lines) + "\n"


def render_headline(report: Report, plan: Plan, *, written: bool = True) -> str:
    """Return one sentence about the written changes."""
    added = sum(change.before is None for change in plan.changes)
    todo = [site for site in report.sites if site.status is Status.TODO and not site.is_left_out]
    lines = sum(
        len(c.after.splitlines()) - len((c.before or b"").splitlines()) for c in plan.changes
    )
    return (
        f"{'Ported' if written else 'Would port'} {report.title} to {report.platform}:"
        f" {count_places(todo)}; {count_noun(len(plan.changes) - added, 'file')} changed,"
        f" {added} added, {lines:,} lines more"
    )


def _render_lines(
    report: Report, plan: Plan, terminal: Terminal, following: str, *, written: bool, left: int
) -> Iterator[str]:
    where = report.tree
    if report.unaccounted:
        mentions = count_noun(len(report.unaccounted), "backend mention")
        yield terminal.loud(
            f"UNACCOUNTED: {mentions} that no rule explains; `portkit scan{where}` lists them"
        )
    if not plan.changes and left:
        yield f"Nothing is written: {count_noun(left, 'place')} left as asked."
        return
    if not plan.changes and report.partial:
        yield terminal.good(f"Nothing to write at the chosen places of {report.title}.")
        return
    if not plan.changes:
        yield terminal.good(f"Nothing to write: {report.title} is ported to {report.platform}.")
        if report.outdated:
            yield ""
            text = f"Next: {explain_regeneration(report.outdated, report.tree)}."
            yield from map(terminal.bold, wrap_text(text, terminal.width))
        return
    for line in wrap_text(render_headline(report, plan, written=written), terminal.width):
        yield terminal.bold(line)
    for line in render_summary(report):
        yield from wrap_text(line, terminal.width, "  ")
    if errors := [site for site in report.sites if site.is_left_out]:
        text = f"{len(errors)} more left out: a match has no other arm there, so one answers with"
        text += f" an error: {', '.join(s.position for s in errors)}."
        yield from wrap_text(text, terminal.width)
    if left:
        text = f"{count_noun(left, 'place')} left as asked: until they are written too, the tree"
        text += f" may not compile; `portkit scan{where}` lists them, `portkit apply{where}` asks"
        yield from wrap_text(f"{text} again.", terminal.width)
    elif report.partial:
        text = "Other places are left, without which the tree may not compile:"
        yield from wrap_text(f"{text} `portkit scan{where}` lists them.", terminal.width)
    if plan.unformatted:
        listed = ", ".join(plan.unformatted)
        text = "Not formatted, because they were not before, or rustfmt refused or took too long: "
        text += listed
        yield from wrap_text(text, terminal.width, "    ")
    yield from _render_manual_work(report, plan, terminal)
    yield ""
    for line in wrap_text(f"Next: {following}", terminal.width):
        yield terminal.bold(line)


def _render_next_steps(report: Report, options: str, held: GitState | None) -> str:
    where = report.tree
    if held is None:
        return (
            f"`portkit apply{where}{options}`{' with the same choice' if report.partial else ''}."
        )
    if report.outdated:
        return f"commit what is written; {explain_regeneration(report.outdated, report.tree)}."
    git, proof = git_command(report.root), f"`portkit verify{where}` proves it"
    if held is GitState.NOT:
        return f"{proof}."
    if held is GitState.PART:
        # In the index, or in a stash, it would be one with what the user has changed.
        return f"`{git} status` shows it beside what was not committed before, {proof}."
    return (
        # Without the first, the second would not show the files that are new.
        f"`{git} add --all` and `{git} diff --cached` show it, {proof};"
        f" `{git} stash --include-untracked` takes it away again."
    )


def _render_manual_work(report: Report, plan: Plan, terminal: Terminal) -> Iterator[str]:
    line_after = _map_lines(plan)
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    asked = (s for s in report.sites if s.applicability in asking)
    for title, sites in group_by_state(site for site in asked if not is_fix(site)):
        moved = [replace(site, line=line_after(site.path, site.line)) for site in sites]
        heading = wrap_text(f"{title} ({count_places(sites)})", terminal.width)
        yield from ("", *map(terminal.notable, heading))
        yield from render_grouped(moved, terminal)
    yield from render_fixes(find_fixes(report), report.tree, terminal)


def _render_reverted(
    report: Report, plan: Plan, taken: Sequence[ReportedSite], terminal: Terminal
) -> Iterator[str]:
    line_after = _map_lines(plan)
    moved = [replace(site, line=line_after(site.path, site.line)) for site in taken]
    heading = f"Taken back: with it the tree does not type-check ({count_places(taken)})"
    yield from ("", *map(terminal.notable, wrap_text(heading, terminal.width)))
    yield from render_grouped(moved, terminal)
    skips, comments = render_exclusions(taken, report.sites, moved)
    if skips:
        yield "To leave it out from now on, in portkit.toml:"
        yield from "".join(skips).splitlines()
    if comments:
        yield "To leave it out from now on, above the place:"
        yield from comments


def _map_lines(plan: Plan) -> Callable[[str, int], int]:
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
