"""Run a port's tests and compare it with CUDA's own backend, on a machine with an NVIDIA GPU.

Usage: ``python run.py RESULTS [tests] [bench] [crosscheck] [vendors]``, in the folder that
``build.py`` made; by default all that it made. It needs the driver, cuBLAS, cuRAND and libcudart,
NVRTC for a program with both backends, and Python 3.11 or newer without packages. What was seen
goes to ``RESULTS``, as far as it came: ``results.json``, to which a later call adds its steps, the
output of each test binary, and the lines of the cross-check.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
BACKENDS: Final = ("rocm", "cuda")
STEPS: Final = ("tests", "bench", "crosscheck", "vendors")

TEST_SECONDS: Final = 300
TESTS_AT_A_TIME: Final = 4
CROSSCHECK_SECONDS: Final = 1800
VENDORS_SECONDS: Final = 300

BENCH_SECONDS: Final = 120
ROUNDS: Final = 5
MORE_ROUNDS: Final = 10
SHORT: Final = 20.0
"""Microseconds; items that CUDA's backend does in less are the host's, and scatter."""
GOAL: Final = 0.97
"""Of CUDA's throughput; items below it are taken again as well."""

Times = dict[str, dict[str, list[float]]]
"""Microseconds of each round, by item and backend."""

_TEST: Final = re.compile(
    r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.MULTILINE
)


def main() -> int:
    """Do what the arguments say; return 1 if a test of the port, or both backends, failed."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    built = [step for step in STEPS if step != "vendors" or (HERE / "vendors").exists()]
    folder, wanted = Path(sys.argv[1]), sys.argv[2:] or built
    if unknown := set(wanted) - set(STEPS):
        sys.exit(f"run.py: {', '.join(sorted(unknown))}: the steps are {', '.join(STEPS)}")
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "results.json"
    results: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    results["machine"] = machine()
    if (made_of := HERE / "built.json").exists():
        results["built"] = json.loads(made_of.read_text())
    failed = False
    for step in wanted:
        if step == "tests":
            results["tests"] = {each: run_tests(each, folder) for each in BACKENDS}
            failed = any(binary["status"] != 0 for binary in results["tests"]["rocm"].values())
        elif step == "bench":
            results["bench"] = bench(ROUNDS)
            again = worth_more(results["bench"])
            results["bench again"] = bench(MORE_ROUNDS, again) if again else {}
        elif step == "vendors":
            results["vendors"] = run_vendors()
            failed = failed or results["vendors"]["status"] != 0
        else:
            results["crosscheck"] = {each: crosscheck(each, folder) for each in BACKENDS}
        place.write_text(json.dumps(results, indent=1))
    return int(failed)


def machine() -> dict[str, Any]:
    """Return what is known of the machine: its GPU, the driver, and the number of processors."""
    query = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    gpu = call(query, 60, HERE)[1].strip()
    print(gpu)
    return {"gpu": gpu, "processors": os.cpu_count()}


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


def run_tests(backend: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run a backend's test binaries, some at a time; return what each test gave, by binary."""
    binaries = sorted((HERE / "tests").glob(f"*/{backend}/*"))
    with ThreadPoolExecutor(TESTS_AT_A_TIME) as pool:
        done = pool.map(lambda binary: run_binary(backend, binary, folder), binaries)
    return dict(done)


def run_binary(backend: str, binary: Path, folder: Path) -> tuple[str, dict[str, Any]]:
    """Run a test binary; return its name, and what its tests gave."""
    crate = binary.parent.parent
    name = f"{crate.name}/{binary.name}"
    started = time.monotonic()
    status, output = call((str(binary),), TEST_SECONDS, crate, environment(backend))
    seconds = time.monotonic() - started
    found = dict(_TEST.findall(output))
    (folder / f"{backend}-{crate.name}-{binary.name}.txt").write_text(output[-400_000:])
    said = [f"{backend}: {name}: status {status}, {seconds:.1f} s, {counts(found)}"]
    said += [f"  failed: {test}" for test, result in found.items() if result == "FAILED"]
    said += sorted(f"  {line}" for line in set(re.findall(r"HIP over CUDA: .*", output)))
    print("\n".join(said), flush=True)
    return name, {"status": status, "seconds": round(seconds, 2), "tests": found}


def run_vendors() -> dict[str, Any]:
    """Run the program that has both backends; return its status and what it printed."""
    command = (str(HERE / "vendors" / "both"), "beside")
    status, output = call(command, VENDORS_SECONDS, HERE, environment())
    print(f"both backends: status {status}\n{output}", flush=True)
    return {"status": status, "printed": output.splitlines()}


def counts(tests: dict[str, str]) -> str:
    """Return how many tests passed, failed and were left out."""
    results = list(tests.values())
    return ", ".join(f"{results.count(each)} {each}" for each in ("ok", "FAILED", "ignored"))


def bench(rounds: int, items: tuple[str, ...] = ()) -> Times:
    """Run the two programs in turn and return what items took; all of them by default."""
    times: Times = {}
    built = [backend for backend in BACKENDS if (HERE / "bench" / backend).exists()]
    for turn in range(rounds):
        for backend in built if turn % 2 == 0 else reversed(built):
            command = (str(HERE / "bench" / backend), "5", "15", *items)
            status, output = call(command, BENCH_SECONDS, HERE, environment(backend))
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
    for item, (rocm, cuda) in medians(times).items():
        print(f"{item:50} {rocm:10.2f} {cuda:10.2f} {cuda / rocm:9.3f}", flush=True)
    return times


def medians(times: Times) -> dict[str, tuple[float, float]]:
    """Return the medians of ROCm's and of CUDA's rounds, of the items that both can do."""
    return {
        item: (statistics.median(of["rocm"]), statistics.median(of["cuda"]))
        for item, of in times.items()
        if set(of) == set(BACKENDS)
    }


def worth_more(times: Times) -> tuple[str, ...]:
    """Return the items of which more rounds say more: short ones, and those below the goal."""
    return tuple(
        item for item, (rocm, cuda) in medians(times).items() if cuda < SHORT or cuda / rocm < GOAL
    )


def crosscheck(backend: str, folder: Path) -> list[int] | None:
    """Let the cross-check of a backend write its lines; return the statuses of its processes.

    Each process takes a part of the operations. Their lines are put into one file, below the head
    that they share.
    """
    program = HERE / "crosscheck" / backend
    if not program.exists():
        return None
    parts = os.cpu_count() or 1
    places = [folder.absolute() / f".crosscheck-{backend}-{part}" for part in range(parts)]

    def take(part: int) -> tuple[int, str]:
        words = ("--device", backend, "--cases", "24", "--part", f"{part + 1}/{parts}")
        command = ("/bin/sh", "-c", f'exec "$0" "$@" > "{places[part]}"', str(program), *words)
        return call(command, CROSSCHECK_SECONDS, folder, environment(backend))

    started = time.monotonic()
    with ThreadPoolExecutor(parts) as pool:
        done = list(pool.map(take, range(parts)))
    with (folder / f"crosscheck-{backend}.jsonl").open("w", encoding="utf-8") as joined:
        for part, place in enumerate(places):
            lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
            joined.writelines(lines[bool(part) :])
            place.unlink()
    said = " ".join(output[-200:] for _, output in done if output)
    statuses = [status for status, _ in done]
    seconds = time.monotonic() - started
    print(f"crosscheck {backend}: statuses {sorted(set(statuses))}, {seconds:.0f} s {said}")
    return statuses


if __name__ == "__main__":
    sys.exit(main())
