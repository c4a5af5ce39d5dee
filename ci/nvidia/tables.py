"""Tables of tests and of throughputs, from what ``run.py`` wrote."""

from __future__ import annotations

import re
import statistics
import textwrap
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from run import BACKENDS, GOAL, MORE_ROUNDS, medians

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from run import Times

SLOWER: Final = Path(__file__).resolve().parent / "slower.toml"

Tests = dict[str, dict[str, Any]]
"""What the tests of a backend gave, by binary."""


def prose(*sentences: str) -> str:
    """Return a paragraph in lines of a readable length."""
    text = " ".join(sentences)
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def tests(binaries: Tests) -> Iterator[str]:
    """Yield the table of test binaries that have tests on the device."""
    yield "| tests of | all | passed | ignored | failed | on the device | passed |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, binary in binaries.items():
        row = counted({name: binary})
        if row["device"]:
            yield cells(f"`{name}`", row)
    yield cells("all, with those that have no test on the device", counted(binaries))


def counted(binaries: Tests) -> Counter[str]:
    """Return how many tests gave what, and how many of them ran on the device."""
    total: Counter[str] = Counter()
    for name, binary in binaries.items():
        found = binary["tests"]
        total.update(found.values())
        total["all"] += len(found)
        device = [result for test, result in found.items() if on_device(name, test)]
        total["device"] += len(device)
        total["device ok"] += device.count("ok")
    return total


def on_device(binary: str, test: str) -> bool:
    """Whether a test runs on a GPU: candle names those of CUDA after it, or ``gpu``."""
    return re.search("rocm|cuda|gpu", test) is not None or binary.endswith("/rocm_basic")


def unmatched(rocm: Tests, cuda: Tests) -> list[str]:
    """Return the port's tests on the device that CUDA's backend does not have.

    What is called ``rocm`` alone comes from a macro that makes CUDA's test of the same call.
    """
    theirs = {(name, test) for name, binary in cuda.items() for test in binary["tests"]}
    return [
        f"{name}: {test}"
        for name, binary in rocm.items()
        for test in binary["tests"]
        if on_device(name, test)
        and not test.endswith("::rocm")
        and not {(name, test.replace("rocm", other)) for other in ("cuda", "gpu")} & theirs
    ]


def cells(name: str, row: Counter[str]) -> str:
    """Return a line of the table of tests."""
    columns = ("all", "ok", "ignored", "FAILED", "device", "device ok")
    return f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |"


def ratios(items: Times) -> dict[str, float]:
    """Return CUDA's time over ROCm's, by item."""
    return {item: cuda / rocm for item, (rocm, cuda) in medians(items).items()}


def bench(items: Times) -> Iterator[str]:
    """Yield the table of throughputs: medians, ratio, and the ratios of single rounds."""
    yield "| operation | ROCm µs | CUDA µs | ratio | rounds |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for item, (rocm, cuda) in medians(items).items():
        ratio = cuda / rocm
        shown = f"{ratio:.3f}" if ratio >= GOAL else f"**{ratio:.3f}**"
        yield f"| {item} | {rocm:.2f} | {cuda:.2f} | {shown} | {spread(items[item])} |"


def spread(times: Mapping[str, list[float]]) -> str:
    """Return the smallest and the largest ratio of the rounds of an item."""
    rounds = [cuda / rocm for rocm, cuda in zip(times["rocm"], times["cuda"], strict=False)]
    return f"{min(rounds):.2f} to {max(rounds):.2f}"


def reached(items: Times) -> str:
    """Return how many items are as fast as they should be."""
    found = ratios(items).values()
    fast = sum(ratio >= GOAL for ratio in found)
    return (
        f"{fast} of {len(found)} reach {GOAL}; the median ratio is {statistics.median(found):.3f}"
    )


def below(items: Times, again: Times, before: Times) -> Iterator[str]:
    """Yield the items below the goal, now or in the run before, and why.

    Args:
        items: of this run.
        again: the rounds that some items took beside those.
        before: the items of the run before, if there was one.
    """
    yield f"| operation | ratio | {MORE_ROUNDS} more rounds | in the run before | why |"
    yield "| --- | ---: | ---: | ---: | --- |"
    now, later, old = ratios(items), ratios(again), ratios(before)
    for item, ratio in now.items():
        if ratio >= GOAL and old.get(item, GOAL) >= GOAL:
            continue
        more = f"{later[item]:.3f}" if item in later else ""
        then = f"{old[item]:.3f}" if item in old else ""
        yield f"| {item} | {ratio:.3f} | {more} | {then} | {why(item, ratio, later.get(item))} |"


def why(item: str, ratio: float, later: float | None) -> str:
    """Return why an item is below the goal."""
    if ratio >= GOAL:
        return "no longer below"
    with SLOWER.open("rb") as file:
        for entry in tomllib.load(file)["slower"]:
            if re.fullmatch(entry["items"], item):
                return str(entry["reason"])
    return "scatter: more rounds reach it" if later is not None and later >= GOAL else "?"


def short(items: Times, again: Times) -> Iterator[str]:
    """Yield what more rounds gave: their median, their range, and the fastest of all rounds."""
    yield f"| operation | ratio | {MORE_ROUNDS} more rounds | of single rounds | of the fastest |"
    yield "| --- | ---: | ---: | --- | ---: |"
    first = ratios(items)
    for item, ratio in ratios(again).items():
        rocm, cuda = (min(items[item][each] + again[item][each]) for each in BACKENDS)
        shown = f"{first[item]:.3f} | {ratio:.3f} | {spread(again[item])} | {cuda / rocm:.3f}"
        yield f"| {item} | {shown} |"
