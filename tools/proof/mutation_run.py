"""Taking the ladder's steps over each mutant, and the page about it."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.crosscheck import CROSSCHECK, run_crosscheck
from portkit.verify.options import Options
from portkit.verify.session import verify_tree
from portkit.verify.step_runner import Verdict
from portkit.verify.steps import STEPS
from portkit.workspace.trust import require_trust
from tools.proof.mutation import SWITCH, seeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager as ContextManager
    from pathlib import Path

    from portkit.verify.step_runner import Result, Step
    from tools.proof.mutation import Mutant

LADDER: Final = (
    *("coverage", "parity", "names", "check"),
    *("device", "device checked", "crosscheck", "crosscheck checked"),
)
"""The steps that are taken, in the order in which a user meets them."""

_RUNNING: Final = LADDER[4:]
"""Those that build the tree for a device and run it."""

_CASES: Final = 6
"""Of each operation and type: what a defect spoils, it spoils more than once in six."""

_NARROW: Final = 12
"""The same where the operations are those that a defect names."""

_CHECKED: Final = " checked"
"""What a step's name ends with where the CPU device watches every access of memory."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one step says of one mutant.

    Attributes:
        mutant: its name.
        step: of ``LADDER``.
        caught: whether the step failed.
        said: the first thing that it said.
        seconds: how long it took.
        date: when, as YYYY-MM-DD.
        operations: a part of the names of those that it took alone; empty where it took all.
    """

    mutant: str
    step: str
    caught: bool
    said: str
    seconds: float
    date: str
    operations: str = ""


class Quiet:
    """Watches a run and shows nothing."""

    def starts(self, *_: object) -> None:
        """Say nothing."""

    def begins(self, *_: object) -> None:
        """Say nothing."""

    def ends(self, *_: object) -> None:
        """Say nothing."""

    def line(self, *_: object) -> None:
        """Say nothing."""


def take_steps(
    root: Path,
    mutants: Iterable[Mutant],
    results: Path,
    *,
    steps: Sequence[str] = LADDER,
    waves: tuple[int, ...] = (32, 64),
    packages: tuple[str, ...] = (),
    seconds: float = float("inf"),
    narrow: bool = False,
) -> list[Found]:
    """Take steps over mutants, each until one finds it, and keep what they say.

    What a file of results already holds is not looked at again, so that the work can be done in
    parts.

    Args:
        root: a copy of a ported tree that passes all of the steps; it is written to.
        mutants: the defects.
        results: lines of JSON; made if it is not there.
        steps: which of ``LADDER``.
        waves: the wavefronts of the CPU device.
        packages: the crates whose tests are run; all that the ladder takes by default.
        seconds: after how long no other step is begun.
        narrow: whether the cross-check takes the operations alone that a mutant names.

    Raises:
        VerificationError: a mutant does not fit the tree.
    """
    end = time.monotonic() + seconds
    work = _Work(root, results, known(results), waves, packages, end, narrow)
    every = tuple(mutants)
    for mutant in every:
        for step in (step for step in LADDER if step in steps):
            # What only runs differently needs one build for all of them.
            if step not in _RUNNING or not mutant.can_be_switched:
                work.take(mutant, step, seeded(root, mutant))
    switched = [mutant for mutant in every if mutant.can_be_switched]
    running = [step for step in LADDER if step in steps and step in _RUNNING]
    if any(work.wants(mutant, step) for mutant in switched for step in running):
        with seeded(root, *switched, switched=True):
            for step in running:
                for mutant in switched:
                    work.take(mutant, step, _turned_on(mutant))
    return work.found


@dataclass
class _Work:
    """What is done, and what is left of the time."""

    root: Path
    results: Path
    found: list[Found]
    waves: tuple[int, ...]
    packages: tuple[str, ...]
    end: float
    narrow: bool

    def wants(self, mutant: Mutant, step: str) -> bool:
        """Whether a step over a mutant is still to be taken, and there is time for it."""
        enough = {(step, ""), (step, self._only(mutant, step))}
        mine = [each for each in self.found if each.mutant == mutant.name]
        known = any(each.caught or (each.step, each.operations) in enough for each in mine)
        return not known and time.monotonic() < self.end

    def take(self, mutant: Mutant, step: str, there: ContextManager[None]) -> None:
        """Take a step, if it is still to be taken, while the mutant is there."""
        if not self.wants(mutant, step):
            return
        with there:
            each = self._one(mutant, step)
        self.found.append(each)
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(each)) + "\n")

    def _one(self, mutant: Mutant, step: str) -> Found:
        options = Options(
            only=(step.removesuffix(_CHECKED),),
            cached=False,
            device="cpu",
            waves=self.waves,
            packages=self.packages,
            checked=step.endswith(_CHECKED),
        )
        only = self._only(mutant, step)
        summary = verify_tree(self.root, options, Quiet(), _ladder(only), consent=require_trust)
        result = next((each for each in summary.results if each.step == options.only[0]), None)
        if result is None or result.verdict not in (Verdict.PASSED, Verdict.FAILED):
            raise VerificationError(
                f"the step {step} says nothing of the mutant {mutant.name!r}: {_why(result)}"
            )
        caught = result.verdict is Verdict.FAILED
        said, today = _said(result) if caught else "", datetime.now(UTC).date().isoformat()
        return Found(mutant.name, step, caught, said, result.seconds, today, only)

    def _only(self, mutant: Mutant, step: str) -> str:
        crosschecks = step.removesuffix(_CHECKED) == CROSSCHECK.name
        return mutant.operations if self.narrow and crosschecks else ""


def _ladder(only: str) -> tuple[Step, ...]:
    """Return the steps, of which the cross-check takes a few cases."""
    few = partial(run_crosscheck, cases=_NARROW if only else _CASES, only=only)
    return tuple(replace(step, take=few) if step is CROSSCHECK else step for step in STEPS)


@contextmanager
def _turned_on(mutant: Mutant) -> Iterator[None]:
    """Turn a defect on for programs that are started meanwhile."""
    os.environ[SWITCH] = mutant.name
    try:
        yield
    finally:
        del os.environ[SWITCH]


def known(results: Path) -> list[Found]:
    """Return what a file of results holds; nothing where there is none.

    Raises:
        VerificationError: it is not one.
    """
    if not results.exists():
        return []
    try:
        lines = results.read_text(encoding="utf-8").splitlines()
        return [Found(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise VerificationError(f"{results} holds no results ({error}): name another") from None


def _said(result: Result) -> str:
    """Return what tells most: the second line of evidence, where the first one only counts."""
    evidence = result.evidence
    counted = len(evidence) > 1 and result.step in ("device", "crosscheck")
    return evidence[1 if counted else 0] if evidence else ""


def _why(result: Result | None) -> str:
    return result.evidence[0] if result and result.evidence else "it was not taken"


def page(
    title: str,
    mutants: Sequence[Mutant],
    found: Sequence[Found],
    steps: Sequence[str] = LADDER,
) -> str:
    """Return the page about what caught which mutant, as Markdown.

    Args:
        title: of what they are seeded into, such as ``the port of toy 1.2.3``.
        mutants: all of them.
        found: what the steps said.
        steps: that are taken over each, until one finds it.
    """
    caught: Mapping[str, Found] = {each.mutant: each for each in found if each.caught}
    taken = {m.name: [_told(each) for each in found if each.mutant == m.name] for m in mutants}
    finished = [m for m in mutants if m.name in caught or set(taken[m.name]) >= set(steps)]
    counts = Counter(each.step for each in caught.values())
    dates = " and ".join(sorted({each.date for each in found}))
    told = ", ".join(f"{step} {counts[step]}" for step in steps if counts[step])
    rows = []
    for mutant in mutants:
        by = caught.get(mutant.name)
        passed = ", ".join(each for each in taken[mutant.name] if by is None or each != _told(by))
        verdict = (
            _told(by) if by else ("**nothing**" if mutant in finished else "not all taken yet")
        )
        said = by.said.replace("|", "/") if by else ""
        rows.append(
            f"| {mutant.name} | {mutant.defect} | {verdict} | {passed or '-'} | {said[:160]} |"
        )
    return "\n".join(
        [
            f"# Mutations of {title}",
            "",
            f"Taken on {dates}. {len(mutants)} defects, one at a time; {len(caught)} are caught:"
            f" {told or 'none'}. A step that a row does not name was not taken over that defect.",
            "",
            "| defect | what is wrong | first caught by | passed before | said |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _told(each: Found) -> str:
    """Return a step, with the operations that it took alone."""
    return f"{each.step} of `{each.operations}`" if each.operations else each.step
