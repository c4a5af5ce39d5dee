"""How fast portkit is, as ratios against ast-grep with equivalent rules, in one run.

Usage: python benches/speed.py TREE [ROUNDS]

TREE is a codebase as upstream has it, such as candle (`portkit fetch candle@0.11.1 TREE`); nothing
is written to it. The commands take turns, so that a machine whose speed drifts slows all of them;
the medians of the ratios are what counts. Wall time holds everything from the start of the process
to its end.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Run:
    """What one run took: wall and processor time in seconds, peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def measure(command: list[str], folder: Path) -> Run:
    """Run a command once and return what it took."""
    # An installed program has its bytecode; the first round writes that of a checkout.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    wall = time.perf_counter() - start
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    tree = Path(arguments[0]).resolve()
    rounds = int(arguments[1]) if len(arguments) > 1 else 7
    scripts = Path(sys.executable).parent
    portkit = str(scripts / "portkit")
    with tempfile.TemporaryDirectory() as folder:
        double = Path(folder) / "double"
        for name in ("one", "two"):
            shutil.copytree(tree, double / name, ignore=shutil.ignore_patterns(".git"))
        shutil.copy(tree / "Cargo.toml", double / "Cargo.toml")
        look = ("apply", "--check", "--no-format", "--allow-dirty")
        commands = {
            "ast-grep scan": [
                str(scripts / "ast-grep"),
                "scan",
                "-c",
                str(HERE / "ast_grep" / "sgconfig.yml"),
                str(tree),
            ],
            "portkit scan": [portkit, "scan", str(tree)],
            "portkit apply": [portkit, *look, str(tree)],
            "portkit scan, two copies": [portkit, "scan", str(double)],
        }
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(rounds + 1):
            for name, command in commands.items():
                runs[name].append(measure(command, tree))
    for taken in runs.values():
        del taken[0]  # the first round warms the disk's cache
    print(f"{'':28}{'wall s':>8}{'cpu s':>8}{'MB':>6}")
    for name, taken in runs.items():
        wall, cpu, memory = (
            statistics.median(getattr(r, field) for r in taken)
            for field in ("wall", "cpu", "memory")
        )
        print(f"{name:28}{wall:8.2f}{cpu:8.2f}{memory:6.0f}")
    for one, other, goal in (
        ("portkit scan", "ast-grep scan", 0.45),
        ("portkit apply", "portkit scan", 2.0),
        ("portkit scan, two copies", "portkit scan", 2.1),
    ):
        pairs = [*zip(runs[one], runs[other], strict=True)]
        wall = statistics.median(a.wall / b.wall for a, b in pairs)
        cpu = statistics.median(a.cpu / b.cpu for a, b in pairs)
        print(f"{one} / {other}: {wall:.2f} (goal: at most {goal}), of processor time {cpu:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
