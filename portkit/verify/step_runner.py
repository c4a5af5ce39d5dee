"""Define a step of a verification, and run steps in order."""

from __future__ import annotations

import errno
import os
import time
import traceback
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from portkit.errors import DiskError, PortkitError, VerificationError, format_error
from portkit.port.drift import explain_regeneration
from portkit.syntax.shell import quote_tree_argument
from portkit.verify.options import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from portkit.verify.diagnostics import Diagnostic
    from portkit.verify.options import Options
    from portkit.verify.verified_tree import VerifiedTree

DEFECT: Final = 70
"""The exit code of a failure that is portkit's own (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: 128 and SIGINT's number, as shells have it."""
LEFT_OUT: Final = 49
"""The exit code where something was left out that the user wanted to have."""


class Verdict(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It could not be taken here, or the codebase has nothing for it: see the first evidence."""
    INTERRUPTED = "interrupted"
    NOT_TAKEN = "not taken"
    """The ladder ended before it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a step.

    Attributes:
        evidence: half sentences that support the verdict, the most telling first.
        left_out: what of its question it could not look at here, each with the reason.
        figures: counts that a program may want to have, by name.
        diagnostics: what compilers said, with the sites that wrote the lines.
        tests: how each test went that a program may want to know of.
        applies: whether the codebase has anything that the step looks at, whatever the machine has.
    """

    verdict: Verdict
    evidence: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    figures: Mapping[str, int] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    tests: tuple[TestResult, ...] = ()
    applies: bool = True

    @property
    def lacking(self) -> tuple[str, ...]:
        """The checks that this machine cannot make, each with the reason."""
        skipped = self.verdict is Verdict.SKIPPED and self.applies
        return (self.evidence[:1] if skipped else ()) + self.left_out


@dataclass(frozen=True, slots=True)
class TestResult:
    """How one test went.

    Attributes:
        test: its name, with that of its binary.
        on: what it ran on, such as ``gfx1100, wave 32``.
        result: ``ok``, ``ignored``, or what went wrong.
    """

    test: str
    on: str
    result: str


def pass_step(
    *evidence: str, left_out: Sequence[str] = (), figures: Mapping[str, int] | None = None
) -> Outcome:
    """Return the outcome of a step whose question is answered with yes."""
    return Outcome(Verdict.PASSED, evidence, tuple(left_out), figures or {})


def fail_step(
    *evidence: str,
    left_out: Sequence[str] = (),
    figures: Mapping[str, int] | None = None,
    diagnostics: Sequence[Diagnostic] = (),
) -> Outcome:
    """Return the outcome of a step whose question is answered with no."""
    return Outcome(Verdict.FAILED, evidence, tuple(left_out), figures or {}, tuple(diagnostics))


def skip_step(reason: str, *evidence: str) -> Outcome:
    """Return the outcome of a step that cannot be taken here, such as one that needs a GPU."""
    return Outcome(Verdict.SKIPPED, (reason, *evidence))


def mark_inapplicable(reason: str) -> Outcome:
    """Return the outcome of a step for which this codebase has nothing, on any machine."""
    return Outcome(Verdict.SKIPPED, (reason,), applies=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a verification.

    Attributes:
        code: the exit code where it fails, of its own.
        take: looks at the tree; a ``PortkitError`` counts as a failure of the step.
        divisible: whether it takes ``Options.shard`` of its work; other steps belong to the first
            shard.
        inputs: what decides the outcome beside the tree's files, portkit, Rust and the environment
            of cargo; without it the outcome is not remembered.
        looks: whether it only looks, so that nothing that the tree brings is run.
    """

    name: str
    shows: str
    code: int
    take: Callable[[VerifiedTree], Outcome]
    divisible: bool = False
    inputs: Callable[[VerifiedTree], Sequence[str]] | None = None
    looks: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How one step went.

    Attributes:
        seconds: how long it took; how long it took then, where it is remembered.
        code: the exit code of its failure, else 0.
        remembered: when the outcome was found, as ISO 8601 has it, where an earlier run found it.
    """

    step: str
    shows: str
    outcome: Outcome
    seconds: float = 0.0
    code: int = 0
    remembered: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the step."""
        return self.outcome.verdict

    @property
    def evidence(self) -> tuple[str, ...]:
        """The evidence for the verdict."""
        return self.outcome.evidence


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run went.

    Attributes:
        results: one for each step that was wanted, in order, also for those not taken.
        error: why no step could be taken, as a sentence; else empty.
        code: the exit code of that, or of an interruption; else 0.
        no_skip: whether what is left out counts as a failure.
        title: what was looked at, such as ``toy 1.2.3``.
        commit: the commit that it was compared with; empty where nothing was.
        outdated: after a failure, files of the port that are not what would be written now.
        asked: how the tree was to be looked at, in options as they are typed.
    """

    results: tuple[Result, ...]
    seconds: float = 0.0
    error: str = ""
    code: int = 0
    no_skip: bool = False
    title: str = ""
    commit: str = ""
    outdated: tuple[str, ...] = ()
    asked: str = ""

    def named(self, *verdicts: Verdict) -> list[str]:
        """Return the names of the steps that ended so."""
        return [result.step for result in self.results if result.verdict in verdicts]

    @property
    def interrupted(self) -> bool:
        """Whether a signal has ended the run: shells have 128 and its number."""
        return self.code > 128

    @property
    def left_out(self) -> tuple[str, ...]:
        """The checks that were left out, each with its step and the reason."""
        return tuple(
            f"{result.step}: {reason}"
            for result in self.results
            for reason in result.outcome.lacking
        )

    @property
    def verdict(self) -> Verdict:
        """The worst verdict, or skipped if nothing was shown at all."""
        if self.error or self.named(Verdict.FAILED) or (self.no_skip and self.left_out):
            return Verdict.FAILED
        if self.code or self.named(Verdict.INTERRUPTED, Verdict.NOT_TAKEN):
            return Verdict.INTERRUPTED
        return Verdict.PASSED if self.named(Verdict.PASSED) else Verdict.SKIPPED

    @property
    def exit_code(self) -> int:
        """0 where all went well; else that of the interruption, or of the first failure."""
        codes = [self.code, *(result.code for result in self.results)]
        first = next(filter(None, codes), 0)
        return first or (LEFT_OUT if self.no_skip and self.left_out else 0)

    def sentence(self, place: str) -> str:
        """Return one sentence about the failure and its fix, or an empty text."""
        if self.error:
            return self.error
        if lost := self.named(Verdict.FAILED):
            wrong = f"{place} does not pass {_join_names(lost)}"
            if self.outdated:
                tree = quote_tree_argument(place) + self.asked
                return (
                    f"{wrong}, and {explain_regeneration(self.outdated, tree)}; verify again then"
                )
            return f"{wrong}: mend what the evidence names and verify again"
        if self.verdict is Verdict.INTERRUPTED:
            return "interrupted: the same command goes on where it was"
        if self.exit_code:
            return (
                f"{place} passes what could be looked at, but {_join_names(self.left_out)}:"
                " provide what"
                " is missing, or leave --no-skip away"
            )
        return ""


class StepObserver(Protocol):
    """An observer of a run of steps."""

    def starts(self, steps: Sequence[Step]) -> None:
        """Hear which steps will be taken."""

    def begins(self, step: Step) -> None:
        """Hear that a step begins."""

    def line(self, text: str) -> None:
        """Receive a line about the current work, or a line of a tool."""

    def ends(self, result: Result) -> None:
        """Hear how a step went; also of those that are not taken."""


def select_steps(steps: Sequence[Step], options: Options) -> tuple[Step, ...]:
    """Return the steps that are wanted, in their order."""
    names = [step.name for step in steps]
    for name in (*options.only, *filter(None, [options.until])):
        if name not in names:
            raise InvalidOptionError(f"there is no step {name!r}; the steps are {', '.join(names)}")
    last = names.index(options.until) if options.until else len(names) - 1
    for name in options.only:
        if names.index(name) > last:
            raise InvalidOptionError(
                f"{name} comes after {options.until}, until which is asked for: leave one away"
            )
    wanted = [s for s in steps[: last + 1] if not options.only or s.name in options.only]
    part = tuple(s for s in wanted if s.divisible or options.shard.index == 1)
    if not part:
        whole = _join_names([step.name for step in wanted]) or "nothing"
        raise InvalidOptionError(f"shard {options.shard} has no part in {whole}: name another step")
    return part


def run_steps(steps: Sequence[Step], tree: VerifiedTree, watch: StepObserver) -> Summary:
    """Take steps in their order.

    The summary comes whatever happens: an error, a defect or a full disk is a failure of the step
    that met it, and an interruption ends the ladder.
    """
    start = time.monotonic()
    results: list[Result] = []
    code, halted = 0, ""
    watch.starts(steps)
    for step in steps:
        if halted:
            result = Result(step.name, step.shows, Outcome(Verdict.NOT_TAKEN, (halted,)))
        else:
            result, code = _run_step(step, tree, watch)
            if code:
                halted = "the run was interrupted"
            elif result.verdict is Verdict.FAILED and not tree.options.keep_going:
                halted = f"{step.name} failed"
        results.append(result)
        watch.ends(result)
    return Summary(
        tuple(results),
        time.monotonic() - start,
        code=code,
        no_skip=tree.options.no_skip,
        title=tree.title,
        commit=tree.known_commit,
    )


def _run_step(step: Step, tree: VerifiedTree, watch: StepObserver) -> tuple[Result, int]:
    """Take one step; the number is the exit code of an interruption, or 0."""
    start = time.monotonic()

    def result(outcome: Outcome, code: int = 0) -> Result:
        return Result(step.name, step.shows, outcome, time.monotonic() - start, code)

    try:
        watch.begins(step)
        known = tree.memory.recall(step)
        if known is not None:
            return known, 0
        mark = tree.memory.mark(step)
        found = result(step.take(tree))
        if found.verdict is Verdict.FAILED:
            return result(found.outcome, step.code), 0
        tree.memory.keep(step, mark, found)
        return found, 0
    except PortkitError as error:
        own = isinstance(error, VerificationError)
        return result(fail_step(str(error)), step.code if own else error.exit_code), 0
    except KeyboardInterrupt:
        return result(Outcome(Verdict.INTERRUPTED, ("interrupted",))), INTERRUPTED
    except SystemExit as signal:
        code = signal.code if isinstance(signal.code, int) else INTERRUPTED
        return result(Outcome(Verdict.INTERRUPTED, ("ended by a signal",))), code
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            sentence = f"the disk is full ({error.filename or 'no file named'}): make room"
            return result(fail_step(sentence), DiskError.exit_code), 0
        return result(_describe_defect(error), DEFECT), 0
    except Exception as error:
        return result(_describe_defect(error), DEFECT), 0


def _describe_defect(error: Exception) -> Outcome:
    if os.environ.get("PORTKIT_TRACEBACK"):
        traceback.print_exc()
    said = format_error(error)
    return fail_step(
        f"this is a defect of portkit, please report it ({said}); with PORTKIT_TRACEBACK=1 in the"
        " environment portkit shows where it happened"
    )


def _join_names(names: Sequence[str]) -> str:
    """Return names as a text has them: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
