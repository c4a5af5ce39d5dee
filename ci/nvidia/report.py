"""Tables for a page of ``reports/nvidia``, from what ``run.py`` wrote.

Usage: ``python ci/nvidia/report.py RESULTS [CPU]``. ``CPU`` is what the cross-check writes on the
CPU device, with the same seed and number of cases.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from portkit.proof.comparison import read  # noqa: E402
from portkit.proof.known import judged, load_table  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.proof.comparison import Comparison, Difference

GOAL: Final = 0.97
"""Of CUDA's throughput."""

Key = tuple[str, str, str]
"""An operation, its types, and how the device differs."""


def main() -> int:
    """Print the tables."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    parts = [tests(results["tests"]), bench(results["bench"])]
    rocm = compared(folder / "crosscheck-rocm.jsonl")
    parts.append(crosscheck(rocm))
    if len(sys.argv) > 2:
        parts.append(beside("the CPU device", rocm, compared(Path(sys.argv[2]))))
    cuda = folder / "crosscheck-cuda.jsonl"
    if cuda.exists():
        parts.append(beside("CUDA's backend", rocm, compared(cuda)))
    print("\n\n".join("\n".join(part) for part in parts))
    return 0


def tests(binaries: dict[str, Any]) -> Iterator[str]:
    """Yield the table of test binaries that have tests."""
    yield "| tests of | all | passed | ignored | failed | on the device | passed |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    total: Counter[str] = Counter()
    for name, binary in binaries.items():
        found = binary["tests"]
        device = [result for test, result in found.items() if on_device(name, test)]
        row = Counter(found.values())
        row["all"], row["device"], row["device ok"] = len(found), len(device), device.count("ok")
        total += row
        if device:
            yield cells(f"`{name}`", row)
    yield cells("all, with those that have no test on the device", total)


def on_device(binary: str, test: str) -> bool:
    """Whether a test runs on the device."""
    return "rocm" in test or binary.endswith("/rocm_basic")


def cells(name: str, row: Counter[str]) -> str:
    """Return a line of the table of tests."""
    columns = ("all", "ok", "ignored", "FAILED", "device", "device ok")
    return f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |"


def bench(items: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """Yield the table of throughputs: medians, ratio, and the ratios of single rounds."""
    yield "| operation | ROCm µs | CUDA µs | ratio | rounds |"
    yield "| --- | ---: | ---: | ---: | --- |"
    ratios = []
    for item, times in items.items():
        if not {"rocm", "cuda"} <= set(times):
            continue
        rocm, cuda = (statistics.median(times[backend]) for backend in ("rocm", "cuda"))
        ratios.append(cuda / rocm)
        rounds = [c / r for r, c in zip(times["rocm"], times["cuda"], strict=False)]
        shown = f"{ratios[-1]:.3f}" if ratios[-1] >= GOAL else f"**{ratios[-1]:.3f}**"
        spread = f"{min(rounds):.2f} to {max(rounds):.2f}"
        yield f"| {item} | {rocm:.2f} | {cuda:.2f} | {shown} | {spread} |"
    reached = sum(ratio >= GOAL for ratio in ratios)
    yield ""
    yield f"{reached} of {len(ratios)} reach {GOAL}; the median ratio is " + (
        f"{statistics.median(ratios):.3f}."
    )


def compared(place: Path) -> Comparison:
    """Return what a run of the cross-check found."""
    with place.open(encoding="utf-8") as lines:
        return read(line for line in lines if '"unfinished"' not in line)


def crosscheck(found: Comparison) -> Iterator[str]:
    """Yield what explains the differences of a run."""
    verdict = judged(found.differences, load_table(), found.candle)
    device = Counter(entry.kind for _, who, entry in verdict.explained if who == "device")
    cases = sum(counts["cases"] for counts in found.counts.values())
    agreed, refused, differed = (found.total(each) for each in ("agreed", "refused", "differed"))
    yield f"{cases} cases: in {agreed} the GPU and the CPU backend agree with the reference,"
    yield f"{refused} both refuse, in {differed} one of them or both differ."
    yield f"These differ in {len(found.differences)} ways;"
    yield f"{len(verdict.unexplained)} of them are not explained."
    yield ""
    yield "| where the device differs, whose it is | ways |"
    yield "| --- | ---: |"
    for kind, times in sorted(device.items()):
        yield f"| {kind} | {times} |"


def beside(name: str, found: Comparison, other: Comparison) -> Iterator[str]:
    """Yield how a run compares with another of the same cases."""
    both = tried(found) & tried(other)
    ours, theirs = ways(found, both), ways(other, both)
    yield f"| beside {name} | ways to differ |"
    yield "| --- | ---: |"
    yield f"| both | {len(ours.keys() & theirs.keys())} |"
    for title, mine, yours in (("the port alone", ours, theirs), (f"{name} alone", theirs, ours)):
        alone = [mine[key] for key in sorted(mine.keys() - yours.keys())]
        named = Counter(f"{each.operation}: {kind(each)}" for each in alone)
        listed = ", ".join(f"{what} ({times})" for what, times in named.most_common())
        yield f"| {title}: {listed or 'none'} | {len(alone)} |"


def tried(found: Comparison) -> set[str]:
    """Return the operations that a run tried."""
    return set(found.counts)


def ways(found: Comparison, operations: set[str]) -> dict[Key, Difference]:
    """Return the ways in which a device differs in these operations."""
    return {
        (each.operation, each.elements, kind(each)): each
        for each in found.differences
        if each.device is not None and each.operation in operations
    }


def kind(difference: Difference) -> str:
    """Return how the device differs."""
    return difference.device.kind if difference.device is not None else ""


if __name__ == "__main__":
    sys.exit(main())
