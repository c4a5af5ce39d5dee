"""Run a port's tests and the comparison with CUDA on a machine with an NVIDIA GPU.

Usage: ``python run.py RESULTS [tests] [bench] [PROGRAM...]``, in the folder that ``build.py`` made.
It needs the driver, cuBLAS, cuRAND and libcudart, and Python 3.11 or newer without packages.
Everything that was seen goes to ``RESULTS/results.json``, as far as it came; the end of the output
is a table.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
TEST_SECONDS: Final = 150
PROGRAM_SECONDS: Final = 240
BENCH_SECONDS: Final = 120
ROUNDS: Final = 5
BACKENDS: Final = ("rocm", "cuda")

SKIPPED: Final = {"bf16_conv_bench": "it times convolutions on the CPU, for two minutes"}
"""Test binaries that are not run, and why."""

_TEST: Final = re.compile(
    r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.MULTILINE
)


def main() -> int:
    """Do what the arguments say; return 1 if a test failed."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, wanted = Path(sys.argv[1]), sys.argv[2:] or ["tests", "bench"]
    results: dict[str, object] = {"machine": machine()}
    failed = False
    folder.mkdir(parents=True, exist_ok=True)
    for step in wanted:
        if step == "tests":
            results["tests"], failed = run_tests(folder)
        elif step == "bench":
            results["bench"] = run_bench()
        else:
            results[step] = run_program(step, folder)
        (folder / "results.json").write_text(json.dumps(results, indent=1))
    return int(failed)


def machine() -> dict[str, str]:
    """Return what is known of the GPU: its name, memory and driver."""
    query = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    answer = call(query, 60, HERE)[1].strip()
    print(answer)
    return {"gpu": answer}


def environment(backend: str = "rocm") -> dict[str, str]:
    """Return the environment for programs of a backend."""
    changed = dict(os.environ, RUST_BACKTRACE="0")
    if backend == "rocm":
        changed["ROCM_PATH"] = str(HERE)
        known = changed.get("LD_LIBRARY_PATH", "")
        changed["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(HERE / "lib"), known]))
    return changed


def call(
    command: tuple[str, ...], seconds: float, folder: Path, env: dict[str, str] | None = None
) -> tuple[int, str]:
    """Run a program, kill all of it when its time is over, and return its status and output."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nkilled after {seconds} s\n"
    return process.returncode, output


def run_tests(folder: Path) -> tuple[dict[str, dict[str, object]], bool]:
    """Run every test binary; return what each test gave, and whether one failed."""
    results: dict[str, dict[str, object]] = {}
    failed = False
    for binary in sorted((HERE / "tests").glob("*/bin/*")):
        crate = binary.parent.parent
        name = f"{crate.name}/{binary.name}"
        if binary.name in SKIPPED:
            print(f"{name}: left out: {SKIPPED[binary.name]}")
            continue
        started = time.monotonic()
        status, output = call((str(binary),), TEST_SECONDS, crate, environment())
        seconds = time.monotonic() - started
        found = dict(_TEST.findall(output))
        on_device = {test: result for test, result in found.items() if "rocm" in test}
        (folder / f"{crate.name}-{binary.name}.txt").write_text(output[-400_000:])
        results[name] = {"status": status, "seconds": round(seconds, 2), "tests": found}
        print(
            f"{name}: status {status}, {seconds:.1f} s, {counts(found)}; rocm {counts(on_device)}"
        )
        for test, result in found.items():
            if result == "FAILED":
                print(f"  failed: {test}")
        failed |= status != 0
        unsupported = set(re.findall(r"HIP over CUDA: .*", output))
        for line in sorted(unsupported):
            print(f"  {line}")
        sys.stdout.flush()
    return results, failed


def counts(tests: dict[str, str]) -> str:
    """Return how many tests passed, failed and were left out."""
    results = list(tests.values())
    return ", ".join(f"{results.count(each)} {each}" for each in ("ok", "FAILED", "ignored"))


def run_bench() -> dict[str, dict[str, list[float]]]:
    """Run the two programs in turn and return each item's times, in microseconds."""
    times: dict[str, dict[str, list[float]]] = {}
    for turn in range(ROUNDS):
        for backend in BACKENDS if turn % 2 == 0 else reversed(BACKENDS):
            program = str(HERE / "bench" / backend)
            status, output = call((program, "5", "15"), BENCH_SECONDS, HERE, environment(backend))
            for line in output.splitlines():
                if line.startswith("{"):
                    item = json.loads(line)
                    of_item = times.setdefault(item["item"], {})
                    if "us" in item:
                        of_item.setdefault(backend, []).append(item["us"])
                    elif turn == 0:
                        print(f"bench {backend}: {item['item']}: {item['error']}")
                elif turn == 0:
                    print(f"bench {backend}: {line}")
            if status != 0:
                print(f"bench {backend}: status {status}")
    print(f"{'item':50} {'rocm us':>10} {'cuda us':>10} {'cuda/rocm':>9}")
    for item, of in times.items():
        if set(of) == set(BACKENDS):
            rocm, cuda = (statistics.median(of[backend]) for backend in BACKENDS)
            print(f"{item:50} {rocm:10.2f} {cuda:10.2f} {cuda / rocm:9.3f}")
    return times


def run_program(name: str, folder: Path) -> dict[str, object]:
    """Run a program of the folder ``programs``; its arguments follow its name, with commas.

    Its output is in the file as far as it came when its time is over.
    """
    program, *arguments = name.split(",")
    command = f'exec "$0" "$@" > "{folder.absolute()}/{program}.txt"'
    words = ("sh", "-c", command, str(HERE / "programs" / program), *arguments)
    started = time.monotonic()
    status, said = call(words, PROGRAM_SECONDS, folder, environment())
    seconds = round(time.monotonic() - started, 1)
    print(f"{name}: status {status}, {seconds} s\n{said[-2000:]}")
    return {"status": status, "seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
