"""What MIOpen's convolutions give beside arithmetic in double precision, and the page about it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import compute_sources_key
from tools.proof.chaos import programs
from tools.proof.printed import printed, streams, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CHOICES: Final = {"estimated": {}, "measured": {"HIPRC_MIOPEN_SEARCH": "1"}}
"""How the fastest solution is known, and what the environment says then."""

_TEST: Final = "what_convolutions_compute"
_CASE: Final = re.compile(r"case: (?P<operation>\w+) of (?P<type>\w+): (?P<off>[\d.]+)$", re.M)


@dataclass(frozen=True, slots=True)
class Case:
    """One convolution of random sizes.

    Attributes:
        operation: ``conv1d`` or ``conv2d``.
        type: Rust's name of that of its elements.
        off: how far off the worst value is, as a part of what the type allows.
    """

    operation: str
    type: str
    off: float


@dataclass(frozen=True, slots=True)
class Run:
    """What the program says with wavefronts of one size.

    Attributes:
        wave: lanes of a wavefront.
        choice: a key of `CHOICES`.
        cases: those that are right.
        lost: what the program says where one is not; empty where all are.
        seconds: how long it took.
    """

    wave: int
    choice: str
    cases: tuple[Case, ...]
    lost: str
    seconds: float


def parse(text: str) -> tuple[Case, ...]:
    """Return the cases that the program has printed."""
    return tuple(
        Case(found["operation"], found["type"], float(found["off"]))
        for found in _CASE.finditer(text)
    )


def take(folder: Path, waves: Sequence[int]) -> list[Run]:
    """Run the bindings' test ``convolutions`` on the CPU device.

    Args:
        folder: for what is built.
        waves: lanes of wavefronts.

    Raises:
        VerificationError: the program cannot be built, or does not end.
        ToolError: the CPU device cannot be built, or cargo is missing.
    """
    program = programs(folder)["convolutions"]
    return [_run(program, wave, choice) for wave in waves for choice in CHOICES]


def _run(program: str, wave: int, choice: str) -> Run:
    done = printed(program, wave, CHOICES[choice], [_TEST])
    return Run(wave, choice, parse(done.text), done.lost, done.seconds)


def page(runs: Sequence[Run], date: str) -> str:
    """Return the page, as Markdown."""
    cases = [case for run in runs for case in run.cases]
    lost = [run for run in runs if run.lost]
    lines = [
        "# Convolutions by MIOpen",
        "",
        f"Taken on {date}, on the CPU device {compute_sources_key()}: {len(cases)} convolutions"
        " forward of"
        " random sizes, paddings, strides and dilations, beside arithmetic in double precision."
        f" {verdict([f'{run.wave} ({run.choice})' for run in lost])}"
        " `python -m tools.proof convolutions` makes this page.",
        "",
        "| wave | streams | the fastest solution is | cases | seconds |",
        "| ---: | --- | --- | ---: | ---: |",
        *(
            f"| {run.wave} | {streams(run.wave)}"
            f" | {run.choice} | {len(run.cases)} | {run.seconds:.0f} |"
            for run in runs
        ),
        "",
        "## How far off",
        "",
        "The error of the worst value, as a part of half a unit in its last place and"
        " `2 (n + 2) u` times the sum of the sizes of its terms, where `n` is how many they are and"
        " `u` half a unit in the last place of single precision, which sums are in; above 1 a case"
        " fails. Estimated, the solution of the CPU device is a product of matrices; measured, it"
        " adds place by place in double precision.",
        "",
        *_table(runs),
    ]
    for run in lost:
        lines += ["", f"## What fails with wavefronts of {run.wave}, {run.choice}", "", run.lost]
    return "\n".join(lines).rstrip() + "\n"


def _table(runs: Sequence[Run]) -> Iterator[str]:
    worst: defaultdict[tuple[str, str, str], float] = defaultdict(float)
    for run in runs:
        for case in run.cases:
            key = (case.operation, run.choice, case.type)
            worst[key] = max(worst[key], case.off)
    types = list(dict.fromkeys(case.type for run in runs for case in run.cases))
    yield "| operation | solution | " + " | ".join(types) + " |"
    yield "| --- | --- |" + " ---: |" * len(types)
    for operation, choice in sorted({key[:2] for key in worst}):
        cells = [worst.get((operation, choice, name)) for name in types]
        row = ["" if off is None else f"{off:.2f}" for off in cells]
        yield f"| {operation} | {choice} | " + " | ".join(row) + " |"
