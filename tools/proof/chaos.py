"""What passes whatever the CPU device does that HIP leaves open, and the page about it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import BEHAVIOURS, build_toolkit, compute_sources_key, count_devices
from portkit.errors import VerificationError
from portkit.numerics.known_differences import load_table
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from portkit.verify.crosscheck import build_program, compare_on_device, find_operations_directory
from portkit.verify.device import test_on_device
from portkit.verify.device_choice import ARCH_OF_WAVE, build_cpu_device
from portkit.verify.test_binaries import select_bad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from portkit.verify.verified_tree import VerifiedTree

CASES: Final = 3
"""Of each operation and type of the cross-check, one of them at the edges of the type; each seed
has others."""

BINDINGS: Final = "bindings"
TESTS: Final = "tests"
CROSSCHECK: Final = "crosscheck"
PARTS: Final[Mapping[str, str]] = {
    BINDINGS: "the bindings' tests",
    TESTS: "the ported tests",
    CROSSCHECK: f"the cross-check ({CASES} cases of each operation and type, others for each seed)",
}
"""What is taken under each seed, the quickest first."""

_APART: Final = ("dialect", "memory")
"""Files of the bindings' tests that ask no device, or count how often memory was short."""

_SECONDS: Final = 300.0
"""After how long a program hangs."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """One part under one seed.

    Attributes:
        part: of ``PARTS``.
        wave: lanes of a wavefront.
        seed: what decides.
        count: tests, or cases.
        lost: what failed, each with its reason; empty where all is well.
        seconds: how long it took, without what was built before.
        date: when, as YYYY-MM-DD.
        device: the key of the CPU device's sources.
        tree: what was tested: the codebase and its version.
        processors: of the machine that it was taken on.
        crates: whose tests were taken, with commas between; empty for the other parts.
    """

    part: str
    wave: int
    seed: int
    count: int
    lost: tuple[str, ...]
    seconds: float
    date: str
    device: str
    tree: str
    processors: int
    crates: str = ""

    @property
    def title(self) -> str:
        """The part, as the page calls it."""
        return f"{PARTS[self.part]} of {self.crates}" if self.crates else PARTS[self.part]


def load(results: Path) -> list[Seeded]:
    """Return what a file of results holds; nothing where there is none."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    rows = [json.loads(line) for line in lines]
    return [Seeded(**{**row, "lost": tuple(row["lost"])}) for row in rows]


def take_seeds(
    tree: VerifiedTree,
    folder: Path,
    results: Path,
    *,
    seeds: Iterable[int],
    parts: Iterable[str] = PARTS,
    seconds: float = float("inf"),
) -> list[Seeded]:
    """Take parts under seeds, and keep what each gives.

    What a file of results already holds of this device is not looked at again, so that the work can
    be done in parts.

    Args:
        tree: a ported tree whose options name the wavefronts.
        folder: for what is built of the bindings; made if it is not there.
        results: lines of JSON; made if it is not there.
        seeds: at least 1 each.
        parts: of ``PARTS``.
        seconds: after how long nothing else is begun.

    Raises:
        VerificationError: something cannot be built.
        ToolError: the CPU device cannot be built, or cargo is missing.
    """
    found = load(results)
    end = time.monotonic() + seconds
    key = compute_sources_key()
    seeds = tuple(seeds)
    built = programs(folder) if BINDINGS in parts else {}
    for part in parts:
        for seed in seeds:
            for wave in tree.options.waves:
                crates = ", ".join(tree.tested) if part == TESTS else ""
                taken_before = {
                    (e.part, e.crates, e.seed, e.wave) for e in found if e.device == key
                }
                if (part, crates, seed, wave) in taken_before or time.monotonic() > end:
                    continue
                one = replace(tree, options=replace(tree.options, chaos=seed))
                count, lost, took = _take(part, one, wave, built)
                date = datetime.now(UTC).date().isoformat()
                row = Seeded(
                    *(part, wave, seed, count, lost, round(took, 1), date, key, tree.title),
                    processors=os.cpu_count() or 1,
                    crates=crates,
                )
                found.append(row)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
    return [each for each in found if each.device == key]


def _take(
    part: str, tree: VerifiedTree, wave: int, programs: dict[str, str]
) -> tuple[int, tuple[str, ...], float]:
    """Return how much a part is, what is lost of it, and the seconds that it took once built."""
    seed, begun = tree.options.chaos, time.monotonic()
    if part == BINDINGS:
        return *_bindings(seed, wave, programs), time.monotonic() - begun
    # Built for all wavefronts, so that it is built once.
    device = build_cpu_device(tree)
    arch = ARCH_OF_WAVE[wave]
    mine = (run for run in device.runs if run.environment["PORTKIT_DEVICE_ARCH"] == arch)
    device = replace(device, runs=tuple(mine))
    if part == TESTS:
        runs = test_on_device(tree, device)
        lost = [f"{name} {result}" for each in runs for name, result in select_bad(each.results)]
        lost += [defect for each in runs for defect in each.seen.defects]
        count = sum(each.results.total() for each in runs)
        return count, tuple(sorted(lost)), sum(each.seconds for each in runs)
    own = find_operations_directory(tree)
    if own is None:
        raise VerificationError(f"the cross-check does not know the operations of {tree.title}")
    build_program(tree, device)
    begun = time.monotonic()
    found = compare_on_device(tree, device, load_table(own), seed=seed, cases=CASES)
    unlike = [
        f"{difference.operation} of {difference.elements}: {who}"
        for each in found
        for difference, who in each.judged.unexplained
    ]
    count = sum(each.comparison.total("cases") for each in found)
    return count, tuple(sorted(unlike)), time.monotonic() - begun


def programs(folder: Path) -> dict[str, str]:
    """Build the bindings' tests, and return the program of each file that asks a device.

    Raises:
        VerificationError: they cannot be built.
    """
    built = subprocess.run(
        ["cargo", "test", "--all-features", "--no-run", "--tests", "--message-format=json"],
        cwd=shipped(HOME),
        env=os.environ | {"CARGO_TARGET_DIR": str(folder / "target")},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        raise VerificationError(f"the bindings' tests cannot be built: {built.stderr}")
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    made = [m for m in messages if m.get("executable") and m["target"]["kind"] == ["test"]]
    return {m["target"]["name"]: m["executable"] for m in made if m["target"]["name"] not in _APART}


def _bindings(seed: int, wave: int, programs: dict[str, str]) -> tuple[int, tuple[str, ...]]:
    device = build_toolkit().environment(arch=ARCH_OF_WAVE[wave], chaos=seed)
    count, lost = 0, []
    for name, program in sorted(programs.items()):
        try:
            done = subprocess.run(
                [program, "--include-ignored"],
                env=device,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            lost.append(f"{name}: no end after {_SECONDS:.0f} s")
            continue
        count += sum(map(int, re.findall(r"^running (\d+) tests?$", done.stdout, re.MULTILINE)))
        failed = re.findall(r"^    ([\w:]+)$", done.stdout, re.MULTILINE)
        lost += [f"{name}: {test}" for test in dict.fromkeys(failed)]
        if done.returncode != 0 and not failed:
            lost.append(f"{name}: ends with {done.returncode}")
    return count, tuple(lost)


def page(tree: VerifiedTree, found: Sequence[Seeded], seeds: Iterable[int]) -> str:
    """Return the page, as Markdown.

    Args:
        tree: what was tested.
        found: what was found with one device.
        seeds: those that were asked for; what was not run is told.
    """
    seeds, waves = tuple(seeds), sorted({each.wave for each in found})
    mine = [each for each in found if each.seed in seeds]
    dates = sorted({each.date for each in mine})
    failed = [each for each in mine if each.lost]
    titles = [title for part in PARTS for title in _titles(mine, part, tree.settings.tested)]
    counts = sorted({count_devices(seed) for seed in seeds})
    processors = " or ".join(map(str, sorted({each.processors for each in mine})))
    lines = [
        "# Whatever HIP leaves open",
        "",
        f"Taken on {' and '.join(dates)} with {tree.title}, on the CPU device {found[0].device}."
        f" A seed decides each of these: {', '.join(f'`{name}`' for name in BEHAVIOURS)}"
        " ([what they are](../../docs/device.md#what-hip-leaves-open)), and how many devices there"
        f" are, {counts[0]} to {counts[-1]}. {len(failed)} of {len(mine)} runs fail. Machines had"
        f" {processors} processors, and others used them meanwhile.",
        "",
        "| part | wave | seeds | of each | failed | seconds each |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
        *(
            row
            for title in titles
            for wave in waves
            for row in _row([e for e in mine if (e.title, e.wave) == (title, wave)], title, wave)
        ),
    ]
    lines += ["", *_failures(failed), *_missing(mine, titles, seeds, waves)]
    return "\n".join(lines).rstrip() + "\n"


def _titles(rows: Sequence[Seeded], part: str, crates: Sequence[str]) -> list[str]:
    """Return what a part is called where it was taken, or would be, crate by crate."""
    taken = [each for each in rows if each.part == part]
    titles = {each.title for each in taken}
    if part == TESTS:
        there = {crate for each in taken for crate in each.crates.split(", ")}
        titles |= {f"{PARTS[part]} of {crate}" for crate in crates if crate not in there}
    return sorted(titles) or [PARTS[part]]


def _row(rows: Sequence[Seeded], title: str, wave: int) -> Iterator[str]:
    if not rows:
        return
    took = sorted(each.seconds for each in rows)
    counts = "; ".join(f"{count}" for count in sorted({each.count for each in rows}))
    yield (
        f"| {title} | {wave} | {_spans(sorted(each.seed for each in rows))} | {counts}"
        f" | {sum(bool(each.lost) for each in rows)} | {took[0]:.0f} to {took[-1]:.0f} |"
    )


def _failures(failed: Sequence[Seeded]) -> Iterator[str]:
    where: dict[str, list[str]] = {}
    for each in failed:
        for line in each.lost:
            where.setdefault(line, []).append(f"{each.seed} (wave {each.wave})")
    if not where:
        return
    yield from ("## What fails", "", "| what | seeds |", "| --- | --- |")
    for line in sorted(where):
        yield f"| {line} | {', '.join(where[line])} |"
    yield ""


def _missing(
    rows: Sequence[Seeded], titles: Sequence[str], seeds: Sequence[int], waves: Sequence[int]
) -> Iterator[str]:
    there = {(each.title, each.seed, each.wave) for each in rows}
    gaps = {
        (title, wave): [seed for seed in seeds if (title, seed, wave) not in there]
        for title in titles
        for wave in waves
    }
    if not any(gaps.values()):
        return
    yield from ("## Not run", "")
    for (title, wave), left in gaps.items():
        if left:
            yield f"- {title}, wave {wave}: seeds {_spans(left)}"


def _spans(numbers: Sequence[int]) -> str:
    """Return numbers in order with what follows on one another drawn together: ``1-3, 5``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def parse_seeds(text: str) -> list[int]:
    """Return the seeds that a text such as ``1-3,5`` stands for, sorted.

    Raises:
        VerificationError: it stands for none.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if match is None or int(match[1]) < 1:
            raise VerificationError(f"{text!r} names no seeds: write some such as 1-20")
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(found)
