"""Run a port's tests and compare it with CUDA's own backend, on a machine with an NVIDIA GPU.

Usage: ``python run.py RESULTS [tests] [bench] [crosscheck]``, in the folder that ``build.py`` made;
all three by default. It needs the driver, cuBLAS, cuRAND and libcudart, and Python 3.11 or newer
without packages. What was seen goes to ``RESULTS``, as far as it came: ``results.json``, the output
of each test binary, and the lines of the cross-check.
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
CROSSCHECK_SECONDS: Final = 1800
BENCH_SECONDS: Final = 120
ROUNDS: Final = 5
BACKENDS: Final = ("rocm", "cuda")
STEPS: Final = ("tests", "bench", "crosscheck")

SKIPPED: Final = {"bf16_conv_bench": "it times convolutions on the CPU, for two minutes"}
"""Test binaries that are not run, and why."""

_TEST: Final = re.compile(
    r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.MULTILINE
)


def main() -> int:
    """Do what the arguments say; return 1 if a test failed."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, wanted = Path(sys.argv[1]), sys.argv[2:] or list(STEPS)
    if unknown := set(wanted) - set(STEPS):
        sys.exit(f"run.py: {', '.join(sorted(unknown))}: the steps are {', '.join(STEPS)}")
    results: dict[str, object] = {"machine": machine()}
    failed = False
    folder.mkdir(parents=True, exist_ok=True)
    for step in wanted:
        if step == "tests":
            results["tests"], failed = run_tests(folder)
        elif step == "bench":
            results["bench"] = run_bench()
        else:
            results["crosscheck"] = {each: crosscheck(each, folder) for each in BACKENDS}
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
    built = [backend for backend in BACKENDS if (HERE / "bench" / backend).exists()]
    for turn in range(ROUNDS):
        for backend in built if turn % 2 == 0 else reversed(built):
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


def crosscheck(backend: str, folder: Path) -> int | None:
    """Let the cross-check of a backend write its lines; return its status, if there is one."""
    program = HERE / "crosscheck" / backend
    if not program.exists():
        return None
    command = f'exec "$0" "$@" > "{folder.absolute()}/crosscheck-{backend}.jsonl"'
    words = ("sh", "-c", command, str(program), "--device", backend, "--cases", "24")
    started = time.monotonic()
    status, said = call(words, CROSSCHECK_SECONDS, folder, environment(backend))
    print(
        f"crosscheck {backend}: status {status}, {time.monotonic() - started:.0f} s {said[-500:]}"
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
