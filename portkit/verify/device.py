"""The step that runs the ported tests on a device: a GPU, an emulated one, the CPU device."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError, VerificationError
from portkit.verify.cargo_features import select_features
from portkit.verify.device_choice import choose_device, list_cpu_device_inputs, list_device_inputs
from portkit.verify.device_log import DeviceLog, read_logs
from portkit.verify.device_log import unpack_log as unpacked_seen
from portkit.verify.emulator import FOLDER
from portkit.verify.kernel_names import find_unrequested_kernels
from portkit.verify.step_runner import Outcome, Step, TestResult, Verdict
from portkit.verify.test_binaries import (
    build_binaries,
    count_results,
    pack_results,
    select_bad,
    test_binary,
    unpack_results,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.verify.device_choice import ChosenDevice, DeviceRun
    from portkit.verify.test_binaries import Binary, Results
    from portkit.verify.verified_tree import VerifiedTree

_SHOWN: Final = 10


@dataclass(frozen=True)
class TestRun:
    """The tests, once through."""

    run: DeviceRun
    results: Results
    seen: DeviceLog = field(default_factory=DeviceLog)
    seconds: float = 0.0


def run_device_tests(tree: VerifiedTree) -> Outcome:
    """Build the tests of the ported crates for a device, and run them on it."""
    device = choose_device(tree)
    if isinstance(device, Outcome):
        return device
    return judge_results(tree, device, test_on_device(tree, device))


def test_on_device(tree: VerifiedTree, device: ChosenDevice) -> tuple[TestRun, ...]:
    """Return how the tests went on a device."""
    tree.say(f"the tests run on {device.title}")
    files = tree.memory.files()
    arguments = ("--tests", *select_features(tree, tree.feature, among=tree.tested), *tree.packages)
    binaries = build_binaries(tree, *arguments, environment=device.environment)
    unchanged = device.simulated and files == tree.memory.files()
    key = tree.memory.key(tree.root, files, *list_cpu_device_inputs(tree)) if unchanged else ""
    done = tuple(_run_tests(tree, device, run, binaries, key) for run in device.runs)
    if not any(each.results for each in done):
        raise VerificationError(f"there is no test in {tree.root}: name a tree that has some")
    return done


def judge_results(tree: VerifiedTree, device: ChosenDevice, runs: Sequence[TestRun]) -> Outcome:
    """Return the outcome of the tests."""
    results: Results = sum((each.results for each in runs), Counter())
    seen = sum((each.seen for each in runs), DeviceLog())
    lost = [f"{each.run.on}: {line}" for each in runs for line in _list_failures(each)]
    dead = find_unreachable_kernels(tree) if device.simulated else frozenset()
    own = sum(count for (name, _), count in results.items() if tree.vendor in name)
    counts = {
        **count_results(results),
        "on the device": own,
        "kernels launched": len(seen.launches) - len(seen.never_launched),
        "kernels never launched": len(seen.never_launched),
        "kernels that nothing asks for": len(dead.intersection(seen.never_launched)),
        "defects": len(seen.defects),
    }
    where = f"{device.title} ({'; '.join(each.run.on for each in runs)})"
    if lost:
        wrong = select_bad(results).total()
        first = [f"{wrong} of {results.total()} tests fail on {where}"] if wrong else []
        first += [f"{len(seen.defects)} defects seen by {where}"] if seen.defects else []
    else:
        good = sum(count for (_, result), count in results.items() if result == "ok")
        first = [f"{good} tests pass on {where}, {own} of them {tree.vendor}'s own"]
        if device.simulated and seen.launches:
            first.append(
                f"they launch {counts['kernels launched']} of {len(seen.launches)} kernels"
            )
    ignored = sorted({name for name, result in results if result == "ignored"})
    return Outcome(
        Verdict.FAILED if lost else Verdict.PASSED,
        (
            "; ".join(first),
            *lost,
            *_describe_evidence(device, runs, seen, dead),
            *(f"ignored, as its source says: {name}" for name in ignored),
        ),
        figures=counts,
        tests=tuple(
            TestResult(name, each.run.on, result)
            for each in runs
            for name, result in sorted(each.results.elements())
        ),
    )


def find_unreachable_kernels(tree: VerifiedTree) -> frozenset[str]:
    """Return the kernels that no Rust code requests, or none if that is unknown."""
    try:
        return find_unrequested_kernels(tree)
    except ToolError:
        return frozenset()


def _run_tests(
    tree: VerifiedTree, device: ChosenDevice, run: DeviceRun, binaries: Sequence[Binary], key: str
) -> TestRun:
    start = time.monotonic()
    results: Results = Counter()
    seen = DeviceLog()
    for binary in binaries:
        found, launched = _test_binary(tree, device, run, binary, key)
        results += found
        seen += launched
    return TestRun(run, results, seen, time.monotonic() - start)


def _test_binary(
    tree: VerifiedTree, device: ChosenDevice, run: DeviceRun, binary: Binary, key: str
) -> tuple[Results, DeviceLog]:
    """Return the results of a binary, from an earlier run if it passed and nothing has changed."""
    options = tree.options
    parts = (run.on, binary.package, binary.name, str(options.shard), str(options.test_seconds))
    known = tree.memory.key(tree.root, key, *parts) if key else ""
    if known and (kept := tree.memory.load(known, "results", "seen")):
        tree.say(f"{binary.name} on {run.on}: passed on {kept['found']}, nothing has changed")
        return unpack_results(kept["results"]), unpacked_seen(kept["seen"])
    with tempfile.TemporaryDirectory(prefix="portkit-device-") as folder:
        environment: Mapping[str, str] = {
            **run.environment,
            "PORTKIT_DEVICE_REPORT": folder,
            FOLDER: folder,
        }
        found = test_binary(
            tree, binary, environment=environment, reserved=device.reserved, command=run.command
        )
        seen = read_logs(Path(folder))
    if known and not select_bad(found) and not seen.defects:
        tree.memory.save(known, {"results": pack_results(found), "seen": seen.packed()})
    return found, seen


def _list_failures(done: TestRun) -> Iterator[str]:
    for name, result in sorted(select_bad(done.results).elements()):
        yield f"{name} {result}"
    for defect, times in sorted(done.seen.defects.items()):
        yield f"{defect} ({times} times)" if times > 1 else defect


def _describe_evidence(
    device: ChosenDevice, runs: Sequence[TestRun], seen: DeviceLog, dead: frozenset[str]
) -> Iterator[str]:
    if device.reason:
        yield device.reason
    yield from device.notes
    if not device.simulated:
        return
    for each in runs:
        counts = each.seen.launches
        launched = f"{counts.total()} launches of {sum(map(bool, counts.values()))} kernels"
        yield f"{each.run.on}: {each.results.total()} tests, {launched}, {each.seconds:.0f} s"
    if never := [name for name in seen.never_launched if name not in dead]:
        more = f" and {len(never) - _SHOWN} more" if len(never) > _SHOWN else ""
        yield (
            f"{len(never)} of {len(seen.launches)} kernels are launched by no test; the step"
            f" crosscheck launches what Rust code asks for: {', '.join(never[:_SHOWN])}{more}"
        )
    if unused := len(dead.intersection(seen.never_launched)):
        yield f"{unused} more cannot be, since no Rust code asks for them"


DEVICE: Final = Step(
    "device",
    "the ported tests pass on an AMD GPU, or on a HIP device that runs on the CPU",
    48,
    run_device_tests,
    divisible=True,
    inputs=lambda tree: (*tree.tested, str(tree.options.test_seconds), *list_device_inputs(tree)),
)
"""Runs on what ``Options.device`` names."""
