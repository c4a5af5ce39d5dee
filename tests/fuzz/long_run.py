"""A long run of mutants, and its report; ``ci/fuzz`` is the command."""

from __future__ import annotations

import random
import resource
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from inputs import chosen, inputs
from mutations import mutant
from properties import Fault, Port, faults, faults_of_kernel, no_rust, repeats_without_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import FrameType

_HANGS: Final = 60
"""Seconds after which a mutant is said to hang."""
_BATCH: Final = 500
"""How many mutants rustc's parser is asked about at once."""
_GATINGS: Final = ("dummy", "cfg")


@dataclass(frozen=True)
class Failure:
    """A mutant of which something does not hold."""

    language: str
    seed: int
    path: str
    kinds: str
    gating: str
    data: bytes
    fault: Fault


@dataclass
class Run:
    """What a run over one language has met so far.

    Attributes:
        language: as in `inputs.LANGUAGES`.
        mutants: how many.
        changed: how many of them the port writes into.
        judged: how many of these rustc's parser was asked about, and had understood before.
        kinds: how often each mutation was made.
        slowest: the most seconds that one took.
        failures: what does not hold.
    """

    language: str
    mutants: int = 0
    changed: int = 0
    judged: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


class _HangError(Exception):
    """A mutant takes too long."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _HangError


def run(language: str, seeds: Iterable[int], trees: Iterable[Path]) -> Iterator[Run]:
    """Make and port mutants of the files of a language; yield the same run after each batch.

    Args:
        language: as in `inputs.LANGUAGES`.
        seeds: what they are made from, one each.
        trees: folders of trees whose files are mutated, beside the fixtures.
    """
    files, met = inputs(language, trees), Run(language)
    ports = {gating: Port.of_candle(gating) for gating in _GATINGS}
    signal.signal(signal.SIGALRM, _stop)
    pending: list[tuple[Failure, bytes]] = []
    for seed in seeds:
        chance = random.Random(f"{language} {seed}")
        file, gating = chosen(files, seed), chance.choice(_GATINGS)
        kinds, data = mutant(seed, file.path, file.part(chance))
        began = time.perf_counter()
        signal.alarm(_HANGS)
        try:
            if language == "kernels":
                found, after = faults_of_kernel(file.path, data)
            else:
                found, after = faults(ports[gating], file.path, data)
        except _HangError:
            found, after = [Fault("it hangs", f"more than {_HANGS} s")], data
        finally:
            signal.alarm(0)
        took = time.perf_counter() - began
        met.mutants, met.seconds = met.mutants + 1, met.seconds + took
        met.slowest = max(met.slowest, took)
        met.kinds.update(kinds.split())
        made = Failure(language, seed, file.path, kinds, gating, data, Fault("", ""))
        met.failures += [_with(made, fault) for fault in found]
        if after != data:
            met.changed += 1
            pending.append((made, after))
        if len(pending) == _BATCH:
            _judge(met, pending)
            pending = []
            yield met
    _judge(met, pending)
    yield met


def _with(made: Failure, fault: Fault) -> Failure:
    return Failure(made.language, made.seed, made.path, made.kinds, made.gating, made.data, fault)


def _judge(met: Run, pending: list[tuple[Failure, bytes]]) -> None:
    """Ask rustc's parser about mutants before and after they were ported."""
    if met.language != "rust" or not pending:
        return
    before = no_rust([made.data for made, _ in pending])
    understood = [pair for i, pair in enumerate(pending) if i not in before]
    met.judged += len(understood)
    for i in sorted(no_rust([after for _, after in understood])):
        made, _ = understood[i]
        if repeats_without_end(made.data):
            continue
        met.failures.append(_with(made, Fault("what rustc understood it does not", "")))


def report(runs: Iterable[Run], trees: Iterable[Path], version: str) -> str:
    """Return the page of a run.

    Args:
        runs: what was met, a run for each language.
        trees: the trees beside the fixtures.
        version: portkit's commit.
    """
    met = list(runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    names = ", ".join(tree.name for tree in trees) or "none"
    taken = f"Taken on {datetime.now(UTC).date()} of {version}, by `ci/fuzz`, in one process."
    lines = [
        "# Mutants",
        "",
        f"{taken} Each mutant is made by one to three mutations of a fixture, or of a file of",
        f"candle ({names}), ported in one of the gatings, and ported again. What is held",
        "of it stands in `tests/fuzz/properties.py`; rustc's parser, as rustfmt runs it, says",
        "whether what was Rust still is.",
        "",
        "| language | mutants | written into | of them Rust | failures | s a mutant | slowest |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in met:
        judged = f"{each.judged:,}" if each.language == "rust" else ""
        mean = each.seconds / max(each.mutants, 1)
        lines.append(
            f"| {each.language} | {each.mutants:,} | {each.changed:,} | {judged} |"
            f" {len(each.failures)} | {mean:.3f} | {each.slowest:.1f} s |"
        )
    lines += ["", f"The process had {peak:,.0f} MB at most, all mutants together.", ""]
    failed = Counter((f.language, f.fault.property) for each in met for f in each.failures)
    if failed:
        lines += ["| language | what does not hold | mutants |", "| --- | --- | ---: |"]
        lines += [f"| {a} | {b} | {count} |" for (a, b), count in sorted(failed.items())]
        lines.append("")
    lines += ["| mutation | made |", "| --- | ---: |"]
    kinds: Counter[str] = sum((each.kinds for each in met), Counter())
    lines += [f"| {kind} | {count:,} |" for kind, count in sorted(kinds.items())]
    return "\n".join([*lines, ""])
