"""The work plan: a checklist of reviews and manual work, in phases.

On a tree with nothing ported it is the plan of the whole port. What a person must do is one task
for each rule and reason; what ``portkit apply`` writes is one task a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from portkit.engine.rule_pages import list_all_pages
from portkit.report.effort import (
    describe_assumption,
    estimate_minutes,
    estimate_saved_minutes,
    format_minutes,
)
from portkit.report.markdown import escape_code, escape_markdown
from portkit.report.model import State, count_noun, count_states, describe_writes
from portkit.report.phases import find_phase, load_phases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.report.model import Report, ReportedSite
    from portkit.report.phases import Phase

VERIFYING: Final = "Each `verify` is a command for the tree as `portkit apply` has written it."
_TEST_FOLDERS: Final = ("tests", "examples", "benches")


class Priority(StrEnum):
    """How much depends on a task."""

    HIGH = "high"
    """Something is missing until a person writes it."""
    MEDIUM = "medium"
    """Something may be wrong in what users run."""
    LOW = "low"
    """Something may be wrong in a test, an example or a benchmark."""
    NONE = "portkit does it"
    """No person is needed."""


@dataclass(frozen=True)
class Task:
    """One thing to do.

    Attributes:
        verify: how to see that it is done.
        minutes: what it is taken to cost a person.
        done: whether the tree shows that it is done.
    """

    what: str
    why: str
    verify: str
    priority: Priority
    minutes: int
    done: bool
    sites: tuple[ReportedSite, ...]

    @property
    def count(self) -> int:
        """How many findings it is about."""
        return len(self.sites)


@dataclass(frozen=True)
class Stage:
    """A phase with its tasks, the most pressing first."""

    phase: Phase
    tasks: tuple[Task, ...]

    @property
    def minutes(self) -> int:
        """The estimated time of the tasks."""
        return sum(task.minutes for task in self.tasks)


def build_work_plan(report: Report) -> tuple[Stage, ...]:
    """Return the phases that have anything to do, in their order."""
    order = load_phases(report.directory)
    grouped: dict[Phase, list[ReportedSite]] = {phase: [] for phase in order}
    for site in report.sites:
        phase = find_phase(site, order)
        if phase is not None and site.state is not State.KEPT:
            grouped[phase].append(site)
    return tuple(
        Stage(phase, tuple(_list_tasks(report, phase, sites)))
        for phase, sites in grouped.items()
        if sites
    )


def render_work_plan(report: Report) -> str:
    """Return the plan as a checklist in Markdown, with a newline at its end."""
    return "\n".join(_render_lines(report)) + "\n"


def _list_tasks(report: Report, phase: Phase, sites: Iterable[ReportedSite]) -> Iterator[Task]:
    titles = {page.code: page.title for page in list_all_pages(report.directory)}
    grouped: dict[tuple[Priority, str, str, str], list[ReportedSite]] = {}
    mechanical: list[ReportedSite] = []
    for site in sites:
        if site.state in (State.MECHANICAL, State.PORTED):
            mechanical.append(site)
        else:
            key = (_choose_priority(site), site.code, site.construct, site.message)
            grouped.setdefault(key, []).append(site)
    if mechanical:
        todo = [site for site in mechanical if site.state is State.MECHANICAL]
        where = report.tree
        count = count_noun(len(todo or mechanical), "place")
        yield Task(
            what=f"write {count}" if todo else f"{count} written",
            why="ROCm's side follows from the CUDA side"
            + (
                f"; by hand it would take about {format_minutes(estimate_saved_minutes(todo))}"
                if estimate_saved_minutes(todo)
                else ""
            ),
            verify=f"portkit apply{where} --check",
            priority=Priority.NONE,
            minutes=0,
            done=not todo,
            sites=tuple(mechanical),
        )
    for (priority, rule, construct, message), found in sorted(
        grouped.items(), key=lambda item: (list(Priority).index(item[0][0]), item[0][1:])
    ):
        verb = "write" if found[0].state is State.MANUAL else "look at"
        yield Task(
            what=f"{verb} {construct}: {message}",
            why=f"{rule}: {titles[rule]}",
            verify=phase.verify,
            priority=priority,
            minutes=estimate_minutes(found),
            done=False,
            sites=tuple(found),
        )


def _choose_priority(site: ReportedSite) -> Priority:
    if site.state is State.MANUAL:
        return Priority.HIGH
    tried = any(folder in site.path.split("/") for folder in _TEST_FOLDERS)
    return Priority.LOW if tried else Priority.MEDIUM


def _render_lines(report: Report) -> Iterator[str]:
    stages = build_work_plan(report)
    yield f"# {report.title}: the work plan of the port to {report.platform}"
    yield ""
    counts = count_states(report.sites)
    asked = counts[State.MANUAL] + counts[State.REVIEW]
    kinds = f"{counts[State.MANUAL]} manual, {counts[State.REVIEW]} for review"
    yield (
        f"{count_noun(asked, 'place')} for a person ({kinds}), about"
        f" {format_minutes(estimate_minutes(report.sites))}. `portkit apply`"
        f" {describe_writes(report)}."
        f" {describe_assumption(by_hand=bool(estimate_saved_minutes(report.sites)))}"
    )
    yield from ("", VERIFYING)
    for number, stage in enumerate(stages, 1):
        cost = f" ({format_minutes(stage.minutes)})" if stage.minutes else ""
        yield from ("", f"## {number}. {stage.phase.title}{cost}", "")
        for task in stage.tasks:
            yield from _build_task(task)
    yield from ("", "## At the end", "", "- [ ] `portkit verify` passes every step")


def _build_task(task: Task) -> Iterator[str]:
    cost = f", {format_minutes(task.minutes)}" if task.minutes else ""
    yield f"- [{'x' if task.done else ' '}] {escape_markdown(task.what)} ({task.priority}{cost})"
    yield f"  - why: {escape_markdown(task.why.replace('``', ''))}"
    yield f"  - verify: `{task.verify}`"
    if task.priority is not Priority.NONE:
        for site in task.sites:
            yield f"  - `{site.position}` `{escape_code(site.symbol)}` {site.id}"
