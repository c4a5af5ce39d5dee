"""The step that compares the port, operation by operation, with arithmetic of our own."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.codebases.registry import find_shipped
from portkit.errors import VerificationError
from portkit.numerics.comparison import parse_comparison
from portkit.numerics.known_differences import (
    FILE,
    find_idle_entries,
    find_reasons,
    judge_differences,
    load_table,
)
from portkit.numerics.program_crate import CRATE, place_program
from portkit.shipped import shipped
from portkit.verify.device_choice import choose_device, list_device_inputs
from portkit.verify.device_log import DeviceLog, read_logs
from portkit.verify.emulator import FOLDER
from portkit.verify.step_runner import Outcome, Step, Verdict, mark_inapplicable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.codebases.directory import Directory
    from portkit.numerics.comparison import Comparison
    from portkit.numerics.known_differences import Judgement, KnownTable
    from portkit.verify.device_choice import ChosenDevice, DeviceRun
    from portkit.verify.verified_tree import VerifiedTree

PROGRAM: Final = "crosscheck"
"""In the directory of a codebase: a crate that is built beside a link to the tree."""
SEED: Final = 1
CASES: Final = 24
"""Of each operation and type, enough that each layout occurs several times."""
_PATIENCE: Final = 600.0
"""Seconds that a part of the operations may take."""


@dataclass(frozen=True)
class CrosscheckRun:
    """The cross-check, once through.

    Attributes:
        judged: what of that explains what it said.
    """

    run: DeviceRun
    comparison: Comparison
    table: KnownTable
    judged: Judgement
    seen: DeviceLog = field(default_factory=DeviceLog)

    @property
    def unexplained_kernels(self) -> tuple[str, ...]:
        """Kernels that were not launched, without a reason."""
        why = find_reasons(self.seen.never_launched, self.table, self.comparison.version)
        return tuple(kernel for kernel, reason in why.items() if not reason)


def run_crosscheck(tree: VerifiedTree, cases: int = CASES, only: str = "") -> Outcome:
    """Build the cross-check for a device, and run it there."""
    own = find_operations_directory(tree)
    if own is None:
        return mark_inapplicable("the cross-check does not know the operations of this codebase")
    device = choose_device(tree)
    if isinstance(device, Outcome):
        return device
    # A few cases do not launch every kernel.
    whole = cases >= CASES and not only
    runs = compare_on_device(tree, device, load_table(own), cases=cases, only=only)
    return judge_comparisons(device, runs, whole=whole)


def find_operations_directory(tree: VerifiedTree) -> Directory | None:
    """Return the directory of a codebase whose operations are known; none of another."""
    own = tree.scan.job.codebase.directory
    return own if own and own.has(FILE) and _find_program_sources(own) else None


def compare_on_device(
    tree: VerifiedTree,
    device: ChosenDevice,
    table: KnownTable,
    *,
    seed: int = SEED,
    cases: int = CASES,
    only: str = "",
    features: Sequence[str] = (),
) -> tuple[CrosscheckRun, ...]:
    """Run the cross-check on a device and return its differences."""
    arguments = ("--seed", str(seed), "--cases", str(cases), "--only", only)
    with _keep_program(build_program(tree, device, features=features)) as program:
        return tuple(_run_once(tree, program, arguments, run, table) for run in device.runs)


def build_program(
    tree: VerifiedTree, device: ChosenDevice, *, release: bool = False, features: Sequence[str] = ()
) -> Path:
    """Return the program, built against a tree."""
    codebase = tree.scan.job.codebase
    program = _find_program_sources(codebase.directory) if codebase.directory else None
    crate = place_program(tree.root, codebase.name, crate=program)
    profile: tuple[str, ...] = ("--release",) if release else ()
    profile += ("--features", ",".join(features)) if features else ()
    done = tree.run_cargo("build", *profile, folder=crate, environment=device.environment)
    if done.status != 0:
        said = next((line for line in done.lines if line.startswith("error")), "no message")
        raise VerificationError(f"the cross-check cannot be built in {crate}: {said}")
    return (
        Path(tree.environment["CARGO_TARGET_DIR"])
        / ("release" if release else "debug")
        / "crosscheck"
    )


@contextmanager
def _keep_program(program: Path) -> Iterator[Path]:
    """Give a program under a name that nobody builds to.

    It starts itself for each part of the operations, and another run of portkit may build the same
    for other wavefronts meanwhile.
    """
    # Beside it, where programs may be run and a sandbox lets them be.
    with tempfile.TemporaryDirectory(prefix="portkit-proof-", dir=program.parent) as folder:
        own = Path(folder) / program.name
        try:
            own.hardlink_to(program)
        except OSError:  # a file system without such links
            shutil.copy2(program, own)
        yield own


def _find_program_sources(own: Directory) -> Path | None:
    """Return the sources of the program that knows the operations of a codebase.

    It lies in the codebase's directory; portkit's own codebase has the one that portkit brings.
    """
    if own.has(f"{PROGRAM}/Cargo.toml"):
        return own.root / PROGRAM
    return shipped(CRATE) if own in find_shipped().values() else None


def _run_once(
    tree: VerifiedTree, program: Path, arguments: Sequence[str], run: DeviceRun, table: KnownTable
) -> CrosscheckRun:
    tree.say(f"the cross-check runs on {run.on}")
    with tempfile.TemporaryDirectory(prefix="portkit-proof-") as folder:
        done = tree.run(
            (*run.command, str(program), *arguments),
            folder=program.parent,
            environment={**run.environment, "PORTKIT_DEVICE_REPORT": folder, FOLDER: folder},
            show=lambda line: None,
            patience=_PATIENCE,
        )
        seen = read_logs(Path(folder))
    if done.status != 0:
        how = "says nothing for too long" if done.silent else f"ends with {done.status}"
        said = f": {done.lines[-1]}" if done.lines else ""
        raise VerificationError(f"the cross-check {how} on {run.on}{said}")
    comparison = parse_comparison(done.output)
    explained = judge_differences(comparison.differences, table, comparison.version)
    return CrosscheckRun(run, comparison, table, explained, seen)


def judge_comparisons(
    device: ChosenDevice, runs: Sequence[CrosscheckRun], *, whole: bool = True
) -> Outcome:
    """Return the outcome of the comparisons."""
    lost = [
        line for each in runs for line in _describe_losses(each, whole=whole and device.simulated)
    ]
    first = runs[0].comparison
    total = sum(each.comparison.total("cases") for each in runs)
    classes = Counter(entry.kind for each in runs for _, _, entry in each.judged.explained)
    seen = sum((each.seen for each in runs), DeviceLog())
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(classes.items()))
    where = f"{device.title} ({'; '.join(each.run.on for each in runs)})"
    head = (
        f"{len(lost)} differences or kernels that nothing explains, on {where}"
        if lost
        else f"{total} cases of {len(first.counts)} operations on {where}, seed {first.seed}"
    )
    evidence = [head, *lost]
    if told:
        evidence.append(f"differences that are understood: {told}")
    if seen.launches:
        launched = sum(map(bool, seen.launches.values()))
        evidence.append(f"{launched} of {len(seen.launches)} kernels launched")
    if whole:
        evidence += [
            f"an entry of {FILE} that explains nothing: {entry.kind}: {entry.operation}"
            f" ({entry.differs})"
            for entry in find_idle_entries([each.judged for each in runs])
        ]
    return Outcome(
        Verdict.FAILED if lost else Verdict.PASSED,
        tuple(evidence),
        figures={
            "cases": total,
            "explained": classes.total(),
            "unexplained": sum(len(each.judged.unexplained) for each in runs),
            "kernels launched": sum(map(bool, seen.launches.values())),
            "kernels never launched": len(seen.never_launched),
            "defects": len(seen.defects),
        },
    )


def _describe_losses(compared: CrosscheckRun, *, whole: bool) -> Iterator[str]:
    on = compared.run.on
    for difference, who in compared.judged.unexplained:
        part = difference.device if who == "device" else difference.cpu
        what = f"{part.kind}: {part.message}" if part else ""
        yield (
            f"{on}: {difference.operation} of {difference.elements}: {who} {what}"
            f" (crosscheck --case {difference.case!r})"
        )
    for defect in sorted(compared.seen.defects):
        yield f"{on}: {defect}"
    if whole:
        for kernel in compared.unexplained_kernels:
            yield f"{on}: no operation launches {kernel}"


CROSSCHECK: Final = Step(
    "crosscheck",
    "every operation gives what arithmetic of our own gives",
    50,
    run_crosscheck,
    inputs=list_device_inputs,
)
"""Runs on what ``Options.device`` names."""
