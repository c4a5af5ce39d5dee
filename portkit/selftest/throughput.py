"""What a trial takes beside the ladder: building the tests, and what operations take."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.crosscheck import build_program, find_operations_directory
from portkit.verify.device_choice import choose_device
from portkit.verify.step_runner import Outcome, Step, Verdict, pass_step, skip_step
from portkit.verify.test_binaries import build_binaries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.verify.device_choice import ChosenDevice
    from portkit.verify.verified_tree import VerifiedTree

PROGRAM: Final = "throughput"
"""Built with the cross-check (``crates/crosscheck/src/bin``)."""
ITEM_SECONDS: Final = 60.0
"""Seconds after which an item counts as hung."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the items are."""

    side: int  # of the square matrices
    sample: int  # milliseconds that a sample takes


ON_A_GPU: Final = Size(4096, 200)
ON_THE_CPU: Final = Size(256, 20)
"""The CPU device runs some ten million threads a second (``docs/device.md``)."""


def build_tests(tree: VerifiedTree) -> Outcome:
    """Build the tests for the device, which the later steps then find built."""
    device = choose_device(tree)
    if isinstance(device, Outcome):
        return device
    arguments = ("--tests", "--features", tree.feature, *tree.packages)
    found = build_binaries(tree, *arguments, environment=device.environment)
    return pass_step(
        f"{len(found)} test programs are built for {device.title}", figures={"programs": len(found)}
    )


def measure_throughput(tree: VerifiedTree) -> Outcome:
    """Measure each item in a process of its own, so that one that hangs is one item."""
    unknown = skip_step("what could be measured is not known of this codebase")
    if find_operations_directory(tree) is None:
        return unknown
    device = choose_device(tree)
    if isinstance(device, Outcome):
        return device
    program = build_program(tree, device, release=not device.simulated).with_name(PROGRAM)
    if not program.is_file():
        return unknown
    done = tree.run((str(program), "--list"), show=lambda line: None, limit=ITEM_SECONDS)
    if done.status != 0 or not done.output:
        raise VerificationError(
            f"{PROGRAM} does not list what it measures: {_find_last_line(done.lines)}"
        )
    size = ON_THE_CPU if device.simulated else ON_A_GPU
    rows = [_measure_item(tree, program, device, item, size) for item in done.output]
    lost = [row for row in rows if ": " in row and not row.endswith("/s")]
    where = f"{device.title} ({device.runs[0].on}), matrices of {size.side}x{size.side}"
    head = f"{len(rows) - len(lost)} of {len(rows)} operations measured on {where}"
    return Outcome(
        Verdict.FAILED if lost else Verdict.PASSED,
        (head, *rows),
        figures={"measured": len(rows) - len(lost), "not measured": len(lost)},
    )


def _measure_item(
    tree: VerifiedTree, program: Path, device: ChosenDevice, item: str, size: Size
) -> str:
    """Return one row of the table: ``add f32: 12.3 us, 16.4 GB/s``, or what went wrong."""
    tree.say(f"throughput: {item}")
    done = tree.run(
        (str(program), item, str(size.side), str(size.sample)),
        folder=program.parent,
        environment=device.runs[0].environment,
        show=lambda line: None,
        limit=ITEM_SECONDS,
    )
    if done.late:
        return f"{item}: timed out after {ITEM_SECONDS:g} s"
    try:
        told = json.loads(done.output[-1])
        rate = told["work"] / told["us"] / 1e3
        return f"{item}: {told['us']:.1f} us, {rate:.3g} G{told['unit']}/s"
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return f"{item}: ended with status {done.status} ({_find_last_line(done.lines)})"


def _find_last_line(lines: Sequence[str]) -> str:
    return lines[-1] if lines else "it said nothing"


BUILD: Final = Step("build", "the tests are built for the device", 1, build_tests)
THROUGHPUT: Final = Step("throughput", "operations can be measured", 1, measure_throughput)
