"""Run the tests of ``portkit repairs`` on this machine's GPU, before the repairs and after them.

Usage: ``python3 run.py RESULTS.json``; it lies in a pack that ``ci/nvidia/repairs.py`` has made.
Exits with 1 where a test that fails before does not pass after.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
LIMIT: Final = 60.0
"""How long one test may take, in seconds; one that never ends fails."""
LAUNCHES: Final = "launch_errors_tests"
"""The tests that are run as they were built for another kind of GPU."""
SHOWN: Final = 300


def main() -> int:
    """Run every test in each build and say what it did."""
    found: dict[str, dict[str, str]] = {}
    for when in ("before", "after"):
        for folder in (when, f"{when}-other"):
            for program in sorted((HERE / folder).iterdir() if (HERE / folder).is_dir() else ()):
                for test in tests(program):
                    of_other = f"{test.partition('::')[0]}" == LAUNCHES
                    if of_other == folder.endswith("-other"):
                        found.setdefault(test, {})[when] = outcome(program, test)
    for test, ends in sorted(found.items()):
        print(test, *(f"{when}: {end}" for when, end in ends.items()), sep="\n  ", flush=True)
    text = json.dumps({"gpu": gpu(), "tests": dict(sorted(found.items()))}, indent=1)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")
    return int(any(ends.get("after") != "passes" for ends in found.values()))


def tests(program: Path) -> list[str]:
    """Return the names of a program's tests."""
    said = subprocess.run([program, "--list", "--format=terse"], capture_output=True, text=True)
    return [line.removesuffix(": test") for line in said.stdout.splitlines() if ": test" in line]


def outcome(program: Path, test: str) -> str:
    """Run one test by itself, and return ``passes`` or what it says."""
    command = [program, "--exact", test, "--test-threads=1"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"did not end in {LIMIT:.0f} s"
    if done.returncode == 0:
        return "passes"
    said = (done.stdout + done.stderr).decode(errors="replace")
    lines = [line for line in said.splitlines() if line.strip()]
    at = next((n for n, line in enumerate(lines) if "panicked" in line or "Error" in line), 0)
    return f"fails ({done.returncode}): {' '.join(lines[at : at + 4])[:SHOWN]}"


def gpu() -> str:
    """Return what the driver says of the GPU."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
