"""What a trial takes beside the ladder: building the tests, and what operations take."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.errors import VerificationError
from portkit.verify.crosscheck import build, known
from portkit.verify.device_choice import chosen
from portkit.verify.ladder import Outcome, Step, Verdict, passed, skipped
from portkit.verify.testing import built

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.verify.device_choice import Chosen
    from portkit.verify.tree import Tree

PROGRAM: Final = "throughput"
"""Built with the cross-check (``crates/crosscheck/src/bin``)."""
ITEM_SECONDS: Final = 60.0
"""Seconds after which an item counts as hung."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the items are.

    Attributes:
        side: of the square matrices.
        sample: milliseconds that a sample takes.
    """

    side: int
    sample: int


ON_A_GPU: Final = Size(4096, 200)
ON_THE_CPU: Final = Size(256, 20)
"""The CPU device runs some ten million threads a second (``docs/device.md``)."""


def take_build(tree: Tree) -> Outcome:
    """Build the tests for the device, which the later steps then find built."""
    device = chosen(tree)
    if isinstance(device, Outcome):
        return device
    arguments = ("--tests", "--features", tree.feature, *tree.packages)
    found = built(tree, *arguments, environment=device.environment)
    return passed(
        f"{len(found)} test programs are built for {device.title}", figures={"programs": len(found)}
    )


def take_throughput(tree: Tree) -> Outcome:
    """Measure each item in a process of its own, so that one that hangs is one item."""
    unknown = skipped("what could be measured is not known of this codebase")
    if known(tree) is None:
        return unknown
    device = chosen(tree)
    if isinstance(device, Outcome):
        return device
    program = build(tree, device, release=not device.simulated).with_name(PROGRAM)
    if not program.is_file():
        return unknown
    done = tree.run((str(program), "--list"), show=lambda line: None, limit=ITEM_SECONDS)
    if done.status != 0 or not done.output:
        raise VerificationError(f"{PROGRAM} does not list what it measures: {_last(done.lines)}")
    size = ON_THE_CPU if device.simulated else ON_A_GPU
    rows = [_item(tree, program, device, item, size) for item in done.output]
    lost = [row for row in rows if ": " in row and not row.endswith("/s")]
    where = f"{device.title} ({device.runs[0].on}), matrices of {size.side}x{size.side}"
    head = f"{len(rows) - len(lost)} of {len(rows)} operations measured on {where}"
    return Outcome(
        Verdict.FAILED if lost else Verdict.PASSED,
        (head, *rows),
        figures={"measured": len(rows) - len(lost), "not measured": len(lost)},
    )


def _item(tree: Tree, program: Path, device: Chosen, item: str, size: Size) -> str:
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
        return f"{item}: ended with status {done.status} ({_last(done.lines)})"


def _last(lines: Sequence[str]) -> str:
    return lines[-1] if lines else "it said nothing"


BUILD: Final = Step("build", "the tests are built for the device", 1, take_build)
THROUGHPUT: Final = Step("throughput", "operations can be measured", 1, take_throughput)
