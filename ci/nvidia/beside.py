"""How a run of the cross-check compares with another of the same cases."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.codebases.directory import Directory
from portkit.codebases.registry import find_codebase as codebase
from portkit.numerics.comparison import Comparison, Difference, parse_comparison
from portkit.numerics.known_differences import judge_differences, load_table
from tables import prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE: Final = Directory(Path(__file__).resolve().parent)
REPAIRED: Final = "repaired.toml"
"""Beside this file."""
CANDLE: Final = codebase("candle")
UPSTREAM: Final = "../../docs/upstream"
DIRECT: Final = "kernel "
"""Begins the names of operations that launch a kernel by its name; the port alone has them."""

Key = tuple[str, str, str]
"""An operation, its types, and how the device differs."""


@dataclass(frozen=True)
class Run:
    """A run of the cross-check.

    Attributes:
        found: what it said.
        taken: the operations and types that it went through.
    """

    found: Comparison
    taken: frozenset[tuple[str, str]]

    def ways(self, other: Run) -> dict[Key, Difference]:
        """Return the ways in which the device differs, of what both runs went through."""
        both = self.taken & other.taken
        return {
            (each.operation, each.elements, each.device.kind): each
            for each in self.found.differences
            if each.device is not None and (each.operation, each.elements) in both
        }


def load(place: Path) -> Run:
    """Return the run that left a file of lines."""
    lines = place.read_text(encoding="utf-8").splitlines()
    said = [json.loads(line) for line in lines if '"counts"' in line]
    return Run(
        parse_comparison(lines), frozenset((each["operation"], each["elements"]) for each in said)
    )


def crosscheck(run: Run) -> Iterator[str]:
    """Yield what a run came to, and what explains the differences."""
    found = run.found
    verdict = judge_differences(found.differences, load_table(CANDLE), found.version)
    device = Counter(entry.kind for _, who, entry in verdict.explained if who == "device")
    cases, agreed, refused, differed = map(found.total, ("cases", "agreed", "refused", "differed"))
    yield prose(
        f"{cases} cases of {len(run.taken)} operations and types: in {agreed} the GPU and the CPU",
        f"backend agree with the reference, {refused} both refuse, in {differed} one of them or",
        f"both differ. These differ in {len(found.differences)} ways;",
        f"{len(verdict.unexplained)} of them are not explained.",
    )
    if verdict.unexplained:
        yield ""
        yield from (f"- {who}: {difference}" for difference, who in verdict.unexplained)
    yield ""
    yield "| where the device differs, whose it is | ways |"
    yield "| --- | ---: |"
    for kind, times in sorted(device.items()):
        yield f"| {kind} | {times} |"
    yield ""
    yield direct(run)


def direct(run: Run) -> str:
    """Return what the kernels gave that no operation launches; the CPU backend has none of them."""
    taken = {key for key in run.taken if key[0].startswith(DIRECT)}
    differing = {
        (each.operation, each.elements) for each in run.found.differences if each.device is not None
    }
    return prose(
        f"Among the operations, {len(taken)} launch a kernel by its name that no operation",
        f"launches: {len(taken - differing)} agree with the reference.",
    )


def beside(name: str, run: Run, other: Run) -> Iterator[str]:
    """Yield in how many ways two runs differ."""
    ours, theirs = run.ways(other), other.ways(run)
    yield f"| beside {name} | ways to differ |"
    yield "| --- | ---: |"
    yield f"| both | {len(ours.keys() & theirs.keys())} |"
    for title, mine, yours in (("the port alone", ours, theirs), (f"{name} alone", theirs, ours)):
        alone = {key: mine[key] for key in sorted(mine.keys() - yours.keys())}
        listed = ", ".join(f"{what} ({times})" for what, times in named(alone).most_common(12))
        yield f"| {title}: {listed or 'none'} | {len(alone)} |"


def named(ways: Iterable[Key]) -> Counter[str]:
    """Return ways by operation and kind."""
    return Counter(f"{operation}: {kind}" for operation, _, kind in ways)


def repaired(run: Run, cuda: Run) -> Iterator[str]:
    """Yield which of upstream's defects CUDA's backend shows where the port does not."""
    ours, theirs = run.ways(cuda), cuda.ways(run)
    alone = [theirs[key] for key in sorted(theirs.keys() - ours.keys())]
    verdict = judge_differences(
        (replace(each, cpu=None) for each in alone), load_table(HERE, REPAIRED), cuda.found.version
    )
    pages = Counter(entry.reason for _, _, entry in verdict.explained)
    yield "| what the port repairs | ways in which CUDA's backend alone differs |"
    yield "| --- | ---: |"
    for page, times in sorted(pages.items()):
        yield f"| [{page}]({UPSTREAM}/{page}.md) | {times} |"
    yield ""
    rest = {(each.operation, each.elements, kind(each)) for each, _ in verdict.unexplained}
    said = ", ".join(f"{what} ({times})" for what, times in named(sorted(rest)).most_common())
    yield f"Of the {len(alone)}, {len(rest)} are something else{f': {said}' if rest else ''}."


def upstreams(run: Run, cuda: Run) -> str:
    """Return whether what the table calls upstream's is to be seen on CUDA's backend."""
    theirs = cuda.ways(run)
    ours = run.ways(cuda).values()
    verdict = judge_differences(ours, load_table(CANDLE), run.found.version)
    called = {
        (each.operation, each.elements, kind(each))
        for each, who, entry in verdict.explained
        if who == "device" and entry.kind == "upstream"
    }
    missing = sorted(called - theirs.keys())
    told = ", ".join(f"{what} ({times})" for what, times in named(missing).items())
    return prose(
        f"Of the {len(called)} ways that the table of known differences calls upstream's,",
        f"{len(called) - len(missing)} are CUDA's backend's as well"
        + (f"; not: {told}." if missing else "."),
    )


def kind(difference: Difference) -> str:
    """Return how the device differs."""
    return difference.device.kind if difference.device is not None else ""
