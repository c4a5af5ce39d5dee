"""What differs between two trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from portkit.report.terminal import align_columns
from portkit.report.verify_report import format_duration
from portkit.selftest.document import DEVICES, read_rates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.report.terminal import Terminal

_NONE: Final = "not there"
_SHOWN: Final = 50
"""Lines of one kind that are shown."""


def render_comparison(one: Mapping[str, Any], other: Mapping[str, Any], terminal: Terminal) -> str:
    """Return what differs, for a person: stages, facts, tests, throughput."""
    return "\n".join(_render_lines(one, other, terminal)) + "\n"


def _render_lines(
    one: Mapping[str, Any], other: Mapping[str, Any], terminal: Terminal
) -> Iterator[str]:
    for name, each in (("A", one), ("B", other)):
        on = DEVICES.get(each["device"], each["device"])
        yield f"{name}  {each['title']} on {on}, {each['day']}, {each['verdict']}"
    steps = [{step["step"]: step for step in each["steps"]} for each in (one, other)]
    names = list(dict.fromkeys((*steps[0], *steps[1])))
    yield ""
    rows = [
        ("stage", "A", "B"),
        *(
            (name, _describe_step(steps[0].get(name)), _describe_step(steps[1].get(name)))
            for name in names
        ),
    ]
    head, *rest = align_columns(rows, width=terminal.width)
    yield terminal.bold(head)
    yield from rest
    yield from _render_part("Programs", one["programs"], other["programs"], terminal)
    yield from _render_part("The machine", _read_facts(steps[0]), _read_facts(steps[1]), terminal)
    yield from _render_part("Tests", _read_tests(one), _read_tests(other), terminal, name_last=True)
    yield from _compare_rates(one, other, terminal)


def _render_part(
    title: str,
    one: Mapping[str, str],
    other: Mapping[str, str],
    terminal: Terminal,
    *,
    name_last: bool = False,
) -> Iterator[str]:
    """Yield the entries that differ; what comes last is cut where the terminal is narrow."""
    rows = [
        (*both, name) if name_last else (name, *both)
        for name in dict.fromkeys((*one, *other))
        if len(set(both := (one.get(name, _NONE), other.get(name, _NONE)))) > 1
    ]
    if not (one or other):
        return
    yield ""
    if not rows:
        yield f"{title}: the same"
        return
    yield terminal.bold(f"{title}: {len(rows)} differ")
    yield from align_columns(rows[:_SHOWN], width=terminal.width, indent="  ")
    if len(rows) > _SHOWN:
        yield f"  and {len(rows) - _SHOWN} more"


def _compare_rates(
    one: Mapping[str, Any], other: Mapping[str, Any], terminal: Terminal
) -> Iterator[str]:
    first, second = ({rate.item: rate for rate in read_rates(dict(each))} for each in (one, other))
    both = [name for name in first if name in second and second[name].us and first[name].us]
    if not both:
        return
    yield ""
    rows = [
        (
            name,
            f"{first[name].us:.1f} us",
            f"{second[name].us:.1f} us",
            f"{first[name].us / second[name].us:.2f}",
        )
        for name in both
    ]
    head, *rest = align_columns(
        [("throughput", "A", "B", "B's in A's"), *rows], width=terminal.width, numbers=3
    )
    yield terminal.bold(head)
    yield from rest


def _describe_step(step: Mapping[str, Any] | None) -> str:
    return f"{step['verdict']} in {format_duration(step['seconds'])}" if step else _NONE


def _read_facts(steps: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return what the doctor found: facts by their names, complaints with their level."""
    found = {}
    for line in steps.get("doctor", {}).get("evidence", ()):
        name, _, fact = line.partition(": ")
        if name in ("problem", "doubt"):
            found[fact] = name
        elif fact:
            found[name] = fact
    return found


def _read_tests(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{test['test']} ({test['on']})": test["result"]
        for step in found["steps"]
        for test in step["tests"]
    }
