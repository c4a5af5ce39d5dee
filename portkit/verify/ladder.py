"""What a step of the ladder is, and how the steps are taken."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from portkit.errors import PortkitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from portkit.verify.tree import Tree


class Verdict(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step found.

    Attributes:
        verdict: whether what it asks for holds.
        evidence: half sentences that support the verdict, the most telling first.
    """

    verdict: Verdict
    evidence: tuple[str, ...]


def passed(*evidence: str) -> Outcome:
    """Return the outcome of a step whose question is answered with yes."""
    return Outcome(Verdict.PASSED, evidence)


def failed(*evidence: str) -> Outcome:
    """Return the outcome of a step whose question is answered with no."""
    return Outcome(Verdict.FAILED, evidence)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the ladder.

    Attributes:
        name: one word.
        shows: what it proves, in one line.
        take: looks at the tree; a ``PortkitError`` counts as a failure of the step.
    """

    name: str
    shows: str
    take: Callable[[Tree], Outcome]


@dataclass(frozen=True, slots=True)
class Result:
    """How one step went.

    Attributes:
        step: the step's name.
        verdict: how it ended.
        seconds: how long it took.
        evidence: as the outcome's.
    """

    step: str
    verdict: Verdict
    seconds: float
    evidence: tuple[str, ...]


def part_of(
    steps: Sequence[Step], *, only: Sequence[str] = (), until: str = ""
) -> tuple[Step, ...]:
    """Return the steps that are wanted, in their order.

    Args:
        steps: the whole ladder.
        only: the names of the steps that are wanted; none for all.
        until: the name of the last step; empty for the ladder's last.

    Raises:
        KeyError: with a name that no step has.
    """
    names = [step.name for step in steps]
    for name in (*only, *filter(None, [until])):
        if name not in names:
            raise KeyError(name)
    last = names.index(until) if until else len(names) - 1
    return tuple(s for s in steps[: last + 1] if not only or s.name in only)


def climb(steps: Sequence[Step], tree: Tree, *, keep_going: bool = False) -> Iterator[Result]:
    """Take steps in their order and yield how each went.

    Args:
        steps: the steps.
        tree: what they look at.
        keep_going: whether to go on after a step that failed.
    """
    for step in steps:
        tree.say(f"{step.name}: {step.shows}")
        start = time.monotonic()
        try:
            outcome = step.take(tree)
        except PortkitError as error:
            outcome = failed(str(error))
        yield Result(step.name, outcome.verdict, time.monotonic() - start, outcome.evidence)
        if outcome.verdict is Verdict.FAILED and not keep_going:
            return
