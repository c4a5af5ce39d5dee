"""A page of ``reports/nvidia`` and its numbers, from what ``run.py`` wrote.

Usage: ``python ci/nvidia/report.py RESULTS --date DATE [--cpu LINES] [--notes TEXT]``. ``LINES`` is
what the cross-check writes on the CPU device, with the same seed and number of cases; ``TEXT`` is
Markdown about this run that no program knows, for the page's end. The run before, of which the page
says what has changed, is the newest one in ``reports/nvidia`` that is older.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from beside import Run, beside, crosscheck, load, repaired, upstreams  # noqa: E402
from run import BACKENDS, GOAL, MORE_ROUNDS, ROUNDS, SHORT  # noqa: E402
from tables import below, bench, counted, prose, ratios, reached, short, tests, unmatched  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from run import Times
    from tables import Tests

REPORTS: Final = ROOT / "reports" / "nvidia"


@dataclass(frozen=True)
class Seen:
    """What a page is about.

    Attributes:
        date: of the run.
        results: what ``run.py`` wrote.
        rocm: the cross-check of the port.
        cuda: the one of CUDA's own backend, if it was run.
        cpu: the one of the port on the CPU device, if it was run.
        before: the numbers of the run before.
        since: its date.
    """

    date: str
    results: dict[str, Any]
    rocm: Run
    cuda: Run | None = None
    cpu: Run | None = None
    before: dict[str, Any] = field(default_factory=dict)
    since: str = ""

    @property
    def tests(self) -> dict[str, Tests]:
        """What tests gave, by backend."""
        return {each: self.results["tests"].get(each, {}) for each in BACKENDS}

    @property
    def bench(self) -> Times:
        """What items took."""
        times: Times = self.results["bench"]
        return times

    @property
    def again(self) -> Times:
        """What some of them took in more rounds."""
        times: Times = self.results.get("bench again", {})
        return times


def main() -> int:
    """Write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the folder that run.py wrote")
    parser.add_argument("--date", required=True, help="of the run, such as 2026-01-31")
    parser.add_argument("--cpu", type=Path, help="the cross-check's lines on the CPU device")
    parser.add_argument("--notes", type=Path, help="Markdown for the page's end")
    parser.add_argument("--output", type=Path, default=REPORTS, help="folder (reports/nvidia)")
    arguments = parser.parse_args()
    seen = gathered(arguments.results, arguments.date, arguments.cpu, arguments.output)
    lines = [*page(seen)]
    if arguments.notes:
        lines += ["", arguments.notes.read_text(encoding="utf-8").rstrip()]
    place = arguments.output / arguments.date
    place.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    numbers = json.dumps(seen.results, separators=(",", ":"))
    place.with_suffix(".json").write_text(numbers, encoding="utf-8")
    return 0


def gathered(folder: Path, date: str, cpu: Path | None, reports: Path) -> Seen:
    """Return what a page is about."""
    older = [each for each in sorted(reports.glob("????-??-??.json")) if each.stem < date]
    cuda = folder / "crosscheck-cuda.jsonl"
    return Seen(
        date,
        json.loads((folder / "results.json").read_text(encoding="utf-8")),
        load(folder / "crosscheck-rocm.jsonl"),
        load(cuda) if cuda.exists() else None,
        load(cpu) if cpu else None,
        json.loads(older[-1].read_text(encoding="utf-8")) if older else {},
        older[-1].stem if older else "",
    )


def page(seen: Seen) -> Iterator[str]:
    """Yield the lines of the page."""
    machine, built = seen.results["machine"], seen.results.get("built", {})
    yield f"# candle {seen.rocm.found.version} on an NVIDIA GPU"
    yield ""
    yield prose(
        f"{seen.date}: {machine['gpu']}, CUDA {built.get('cuda', '?')},",
        f"{machine.get('processors', '?')} processors. The port as portkit",
        f"{built.get('portkit') or '?'} makes it, built by [the harness](../../docs/nvidia.md) as",
        f"for gfx1030; numbers in [{seen.date}.json]({seen.date}.json).",
    )
    yield ""
    yield from summary(seen)
    for title, section in (
        ("Tests", of_tests),
        ("Cross-check", of_crosscheck),
        ("Throughput", of_bench),
    ):
        yield from ("", f"## {title}", "")
        yield from section(seen)


def summary(seen: Seen) -> Iterator[str]:
    """Yield what came of it, in short."""
    device = counted(seen.tests["rocm"])
    yield "| | |"
    yield "| --- | --- |"
    yield f"| tests on the device | {device['device ok']} of {device['device']} pass |"
    yield f"| cross-check | {len(seen.rocm.taken)} operations and types |"
    for name, other in (("the CPU device", seen.cpu), ("CUDA's own backend", seen.cuda)):
        if other is not None:
            alone = len(seen.rocm.ways(other).keys() - other.ways(seen.rocm).keys())
            less = len(other.ways(seen.rocm).keys() - seen.rocm.ways(other).keys())
            yield f"| beside {name} | differs in {alone} ways alone, and in {less} ways not |"
    yield f"| throughput beside CUDA's own backend | {reached(seen.bench)} |"


def of_tests(seen: Seen) -> Iterator[str]:
    """Yield the section on tests."""
    rocm, cuda = (seen.tests[each] for each in BACKENDS)
    yield "The whole list of candle-core and candle-nn."
    yield ""
    yield from tests(rocm)
    lost = sorted(name for name, binary in rocm.items() if binary["status"] != 0)
    yield ""
    yield f"Binaries that failed: {', '.join(lost) or 'none'}."
    if not cuda:
        return
    theirs = counted(cuda)
    yield prose(
        "CUDA's own list, built with `--features cuda` and run on the same GPU:",
        f"{theirs['device ok']} of {theirs['device']} pass. The port has beside them:",
    )
    yield ""
    yield from (f"- `{each}`" for each in unmatched(rocm, cuda))


def of_crosscheck(seen: Seen) -> Iterator[str]:
    """Yield the section on the cross-check."""
    run = seen.rocm
    yield prose(
        f"{run.found.cases} cases of each operation and type, seed {run.found.seed}, against",
        "references in double precision ([how](../../docs/proof.md)).",
    )
    yield ""
    yield from crosscheck(run)
    yield ""
    yield prose(
        "What follows counts the ways in which an operation of given types differs (a wrong value,",
        "an infinity, NaN, a refusal, a panic, a crash), of those that both runs went through.",
    )
    if seen.cpu is not None:
        yield from ("", "### Does the CPU device tell the truth?", "")
        yield from beside("the CPU device", run, seen.cpu)
    if seen.cuda is not None:
        yield from ("", "### Is what we call upstream's really upstream's?", "")
        yield "The same program, built against candle's own CUDA backend, on the same GPU."
        yield ""
        yield from beside("CUDA's backend", run, seen.cuda)
        yield ""
        yield upstreams(run, seen.cuda)
        yield ""
        yield from repaired(run, seen.cuda)


def of_bench(seen: Seen) -> Iterator[str]:
    """Yield the section on throughputs."""
    yield prose(
        "The ported backend over the stand-in beside CUDA's own, in one run on the same GPU:",
        f"{ROUNDS} rounds, the two programs in turn, in each the median of five samples of 15 ms",
        "with one wait for the device at its end; the medians of the rounds. A ratio over 1 means",
        "that the port is faster; the last column is the range of the ratios of single rounds.",
        "cuBLAS computes both sides' products, so matmul compares the way there, not rocBLAS.",
    )
    yield ""
    yield from bench(seen.bench)
    yield ""
    yield f"{reached(seen.bench)}."
    left = [item for item, of in seen.bench.items() if set(of) != set(BACKENDS)]
    if left:
        yield f"One of the two backends cannot do: {', '.join(left)}."
    yield ""
    yield f"Below {GOAL}, now or in the run before ({seen.since or 'none'}):"
    yield ""
    yield from below(seen.bench, seen.again, seen.before.get("bench", {}))
    if seen.again:
        yield ""
        yield prose(
            f"Items that CUDA's backend does in less than {SHORT:.0f} µs are the host's for the",
            f"most part, and scatter by as much as its processes do. They, and those below {GOAL},",
            f"took {MORE_ROUNDS} more rounds:",
        )
        yield ""
        yield from short(seen.bench, seen.again)
        yield ""
        fast = Counter(ratio >= GOAL for ratio in ratios(seen.again).values())
        yield f"Of these, {fast[True]} of {fast.total()} reach {GOAL}."


if __name__ == "__main__":
    sys.exit(main())
