"""The step that runs the ported tests on a device: a GPU, an emulated one, the CPU device."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError, VerificationError
from portkit.verify.cargo_features import asking
from portkit.verify.device_choice import chosen, decides, inputs
from portkit.verify.device_report import Seen, seen_in
from portkit.verify.device_report import unpacked as unpacked_seen
from portkit.verify.emulator import FOLDER
from portkit.verify.ladder import Outcome, Step, Tested, Verdict
from portkit.verify.names import unasked
from portkit.verify.testing import bad, built, figures, packed, tested, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.verify.device_choice import Chosen, Run
    from portkit.verify.testing import Binary, Results
    from portkit.verify.tree import Tree

_SHOWN: Final = 10


@dataclass(frozen=True)
class Done:
    """The tests, once through.

    Attributes:
        run: what they ran on.
        results: how each went.
        seen: what the CPU device has seen.
        seconds: how long it took.
    """

    run: Run
    results: Results
    seen: Seen = field(default_factory=Seen)
    seconds: float = 0.0


def take(tree: Tree) -> Outcome:
    """Build the tests of the ported crates for a device, and run them on it."""
    device = chosen(tree)
    if isinstance(device, Outcome):
        return device
    return judged(tree, device, taken(tree, device))


def taken(tree: Tree, device: Chosen) -> tuple[Done, ...]:
    """Return how the tests went on a device.

    Raises:
        VerificationError: they cannot be built, or there are none.
        ToolError: cargo is missing.
    """
    tree.say(f"the tests run on {device.title}")
    files = tree.memory.files()
    arguments = ("--tests", *asking(tree, tree.feature, among=tree.tested), *tree.packages)
    binaries = built(tree, *arguments, environment=device.environment)
    unchanged = device.simulated and files == tree.memory.files()
    key = tree.memory.key(tree.root, files, *decides(tree)) if unchanged else ""
    done = tuple(_run(tree, device, run, binaries, key) for run in device.runs)
    if not any(each.results for each in done):
        raise VerificationError(f"there is no test in {tree.root}: name a tree that has some")
    return done


def judged(tree: Tree, device: Chosen, runs: Sequence[Done]) -> Outcome:
    """Return what the results say.

    Args:
        tree: the tree.
        device: what the tests ran on.
        runs: how they went.
    """
    results: Results = sum((each.results for each in runs), Counter())
    seen = sum((each.seen for each in runs), Seen())
    lost = [f"{each.run.on}: {line}" for each in runs for line in _lost(each)]
    dead = unreachable(tree) if device.simulated else frozenset()
    own = sum(count for (name, _), count in results.items() if tree.vendor in name)
    counts = {
        **figures(results),
        "on the device": own,
        "kernels launched": len(seen.launches) - len(seen.never_launched),
        "kernels never launched": len(seen.never_launched),
        "kernels that nothing asks for": len(dead.intersection(seen.never_launched)),
        "defects": len(seen.defects),
    }
    where = f"{device.title} ({'; '.join(each.run.on for each in runs)})"
    if lost:
        wrong = bad(results).total()
        first = [f"{wrong} of {results.total()} tests fail on {where}"] if wrong else []
        first += [f"{len(seen.defects)} defects seen by {where}"] if seen.defects else []
    else:
        good = sum(count for (_, result), count in results.items() if result == "ok")
        first = [f"{good} tests pass on {where}, {own} of them {tree.vendor}'s own"]
        if device.simulated and seen.launches:
            first.append(
                f"they launch {counts['kernels launched']} of {len(seen.launches)} kernels"
            )
    return Outcome(
        Verdict.FAILED if lost else Verdict.PASSED,
        ("; ".join(first), *lost, *_evidence(device, runs, seen, dead), *_ignored(results)),
        figures=counts,
        tests=tuple(
            Tested(name, each.run.on, result)
            for each in runs
            for name, result in sorted(each.results.elements())
        ),
    )


def _ignored(results: Results) -> Iterator[str]:
    """Yield the tests that the sources have ignored."""
    for name in sorted({name for name, result in results if result == "ignored"}):
        yield f"ignored, as its source says: {name}"


def unreachable(tree: Tree) -> frozenset[str]:
    """Return the kernels that no Rust code asks for; none where that cannot be told."""
    try:
        return unasked(tree)
    except ToolError:
        return frozenset()


def _run(tree: Tree, device: Chosen, run: Run, binaries: Sequence[Binary], key: str) -> Done:
    start = time.monotonic()
    results: Results = Counter()
    seen = Seen()
    for binary in binaries:
        found, launched = _tested(tree, device, run, binary, key)
        results += found
        seen += launched
    return Done(run, results, seen, time.monotonic() - start)


def _tested(tree: Tree, device: Chosen, run: Run, binary: Binary, key: str) -> tuple[Results, Seen]:
    """Return the results of a binary, from an earlier run if it passed and nothing has changed."""
    options = tree.options
    parts = (run.on, binary.package, binary.name, str(options.shard), str(options.test_seconds))
    known = tree.memory.key(tree.root, key, *parts) if key else ""
    if known and (kept := tree.memory.load(known, "results", "seen")):
        tree.say(f"{binary.name} on {run.on}: passed on {kept['found']}, nothing has changed")
        return unpacked(kept["results"]), unpacked_seen(kept["seen"])
    with tempfile.TemporaryDirectory(prefix="portkit-device-") as folder:
        environment: Mapping[str, str] = {
            **run.environment,
            "PORTKIT_DEVICE_REPORT": folder,
            FOLDER: folder,
        }
        found = tested(
            tree,
            binary,
            environment=environment,
            reserved=device.reserved,
            command=run.command,
        )
        seen = seen_in(Path(folder))
    if known and not bad(found) and not seen.defects:
        tree.memory.save(known, {"results": packed(found), "seen": seen.packed()})
    return found, seen


def _lost(done: Done) -> Iterator[str]:
    """Yield what went wrong, each test and each defect."""
    for name, result in sorted(bad(done.results).elements()):
        yield f"{name} {result}"
    for defect, times in sorted(done.seen.defects.items()):
        yield f"{defect} ({times} times)" if times > 1 else defect


def _evidence(
    device: Chosen, runs: Sequence[Done], seen: Seen, dead: frozenset[str]
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


def _inputs(tree: Tree) -> tuple[str, ...]:
    """Return what decides the outcome; it raises what ``device_choice.inputs`` raises."""
    return (*tree.tested, str(tree.options.test_seconds), *inputs(tree))


DEVICE: Final = Step(
    "device",
    "the ported tests pass on an AMD GPU, or on a HIP device that runs on the CPU",
    48,
    take,
    divisible=True,
    inputs=_inputs,
)
"""Runs on what ``Options.device`` names."""
