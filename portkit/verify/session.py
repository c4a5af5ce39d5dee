"""Run the steps on the tree at a path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from portkit.engine.session import check_portable, scan_tree
from portkit.errors import PortkitError, VerificationError
from portkit.port.drift import list_outdated_files
from portkit.syntax.shell import quote_tree_argument
from portkit.verify.step_runner import (
    INTERRUPTED,
    Outcome,
    Result,
    Summary,
    Verdict,
    run_steps,
    select_steps,
)
from portkit.verify.steps import STEPS
from portkit.verify.verified_tree import VerifiedTree
from portkit.workspace.finding import Status
from portkit.workspace.process import end_on_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from portkit.engine.scan import Scan
    from portkit.verify.options import Options
    from portkit.verify.step_runner import Step, StepObserver


def verify_tree(
    directory: Path,
    options: Options,
    watch: StepObserver,
    steps: Sequence[Step] = STEPS,
    *,
    consent: Callable[[Path], object],
) -> Summary:
    """Take the steps that are wanted, and say how they went, whatever happens.

    Args:
        directory: the workspace root.
        options: what the user asks for.
        watch: is told how it goes.
        steps: the whole ladder.
        consent: is given the tree's root before anything that the tree brings is run outside a
            sandbox, and raises a ``PortkitError`` where that may not be.
    """
    wanted = select_steps(steps, options)
    with end_on_signals():
        try:
            scan = scan_tree(directory, gating=options.gating, profile=options.profile)
            if not options.unfinished:
                check_ported(scan, directory, options.asked)
            tree = VerifiedTree(scan, options, watch.line)
            if not all(step.looks for step in wanted):
                # A sandbox that there is not is said first: nobody is asked in vain.
                _ = tree.sandbox
                if not options.sandbox:
                    consent(tree.root)
            if options.revision:
                _ = tree.commit  # a commit that is not there is said before anything is compiled
            found = run_steps(wanted, tree, watch)
            if not found.named(Verdict.FAILED):
                return found
            return replace(
                found, outdated=_find_outdated_files(directory, options), asked=options.asked
            )
        except PortkitError as error:
            return _make_failed_summary(wanted, options, str(error), error.exit_code)
        except KeyboardInterrupt:
            return _make_failed_summary(wanted, options, "interrupted", INTERRUPTED)
        except SystemExit as signal:
            code = signal.code if isinstance(signal.code, int) else INTERRUPTED
            return _make_failed_summary(wanted, options, "ended by a signal", code)


def _find_outdated_files(directory: Path, options: Options) -> tuple[str, ...]:
    try:
        scan = scan_tree(directory, gating=options.gating, kernels=True, profile=options.profile)
        return list_outdated_files(scan.findings)
    except PortkitError:  # the failure is what counts, and has been found
        return ()


def check_ported(scan: Scan, directory: Path, asked: str = "") -> None:
    """Refuse a tree that has no port yet."""
    statuses = {finding.status for finding in scan.findings}
    if Status.TODO in statuses and Status.PORTED not in statuses:
        check_portable(scan)  # it must not send to what would refuse
        raise VerificationError(
            f"{directory} holds no port to {scan.job.vendor.title}: run `portkit"
            f" apply{quote_tree_argument(directory.as_posix())}{asked}` first, or name a tree"
            " that is ported"
        )


def _make_failed_summary(
    wanted: Sequence[Step], options: Options, error: str, code: int
) -> Summary:
    results = tuple(
        Result(step.name, step.shows, Outcome(Verdict.NOT_TAKEN, ("the run could not begin",)))
        for step in wanted
    )
    return Summary(results, error=error, code=code, no_skip=options.no_skip)
