"""What the ranks of RCCL compute beside arithmetic in double precision, and the page about it."""

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

RANKS: Final = 8
"""How many devices there are; each number of ranks from two on is taken."""

_CASE: Final = re.compile(
    r"^case: (?P<operation>.+) of (?P<type>\w+) by (?P<ranks>\d+) (?P<way>\w+): (?P<off>[\d.]+)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One operation of one type, as one rank has it.

    Attributes:
        wave: lanes of a wavefront.
        operation: such as ``all_reduce (sum)``.
        type: Rust's name of it.
        ranks: how many there are.
        way: ``threads`` or ``processes``.
        off: how far off the worst value is, as a part of what the type allows.
    """

    wave: int
    operation: str
    type: str
    ranks: int
    way: str
    off: float


@dataclass(frozen=True, slots=True)
class Run:
    """What the program says with wavefronts of one size.

    Attributes:
        wave: lanes of a wavefront.
        cases: those that are right.
        lost: what the program says where one is not; empty where all are.
        seconds: how long it took.
    """

    wave: int
    cases: tuple[Case, ...]
    lost: str
    seconds: float


def parse(wave: int, text: str) -> tuple[Case, ...]:
    """Return the cases that the program has printed."""
    return tuple(
        Case(wave, found["operation"], found["type"], int(found["ranks"]), found["way"], off)
        for found in _CASE.finditer(text)
        for off in [float(found["off"])]
    )


def take(folder: Path, waves: Sequence[int]) -> list[Run]:
    """Run the bindings' test ``against_f64`` on the CPU device.

    Args:
        folder: for what is built.
        waves: lanes of wavefronts.

    Raises:
        VerificationError: the program cannot be built, or does not end.
        ToolError: the CPU device cannot be built, or cargo is missing.
    """
    program = programs(folder)["against_f64"]
    return [_run(program, wave) for wave in waves]


def _run(program: str, wave: int) -> Run:
    done = printed(program, wave, {"PORTKIT_DEVICE_COUNT": str(RANKS)})
    return Run(wave, parse(wave, done.text), done.lost, done.seconds)


def page(runs: Sequence[Run], date: str) -> str:
    """Return the page, as Markdown."""
    cases = [case for run in runs for case in run.cases]
    lost = [run for run in runs if run.lost]
    counts = sorted({case.ranks for case in cases})
    span = f", {counts[0]} to {counts[-1]} ranks" if counts else ""
    lines = [
        "# Ranks of RCCL",
        "",
        f"Taken on {date}, on the CPU device {compute_sources_key()}: {len(cases)} cases{span},"
        " each a"
        " rank's share of one operation of one type, of 257 random values or as many for each rank,"
        f" beside arithmetic in double precision. {verdict([str(run.wave) for run in lost])}"
        " `python -m tools.proof ranks` makes this page.",
        "",
        "| wave | streams | ranks are | cases | with integers | with floats | seconds |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: |",
        *(row for run in runs for row in _rows(run)),
        "",
        "## How far off",
        "",
        "Integers, and what is only moved or compared, have to be the same to the last bit. Of the"
        " rest this is the error of the worst value, as a part of `2 n u` times the sum of the"
        " sizes (of a product: its size), where `n` is the number of ranks and `u` half a unit in"
        " the last place; above 1 a case fails.",
        "",
        *_table(cases),
    ]
    for run in lost:
        lines += ["", f"## What fails with wavefronts of {run.wave}", "", run.lost]
    return "\n".join(lines).rstrip() + "\n"


def _rows(run: Run) -> Iterator[str]:
    for way in ("threads", "processes"):
        mine = [case for case in run.cases if case.way == way]
        floats = sum("f" in case.type for case in mine)
        yield (
            f"| {run.wave} | {streams(run.wave)} | {way} | {len(mine)} | {len(mine) - floats}"
            f" | {floats} | {run.seconds:.0f} for both |"
        )


def _table(cases: Sequence[Case]) -> Iterator[str]:
    worst: defaultdict[tuple[str, str], float] = defaultdict(float)
    for case in cases:
        key = (case.operation, case.type)
        worst[key] = max(worst[key], case.off)
    types = list(dict.fromkeys(case.type for case in cases))
    yield "| operation | " + " | ".join(types) + " |"
    yield "| --- |" + " ---: |" * len(types)
    for operation in sorted({case.operation for case in cases}):
        each = [worst.get((operation, name)) for name in types]
        cells = ["" if off is None else "0" if off == 0 else f"{off:.2f}" for off in each]
        yield f"| {operation} | " + " | ".join(cells) + " |"
