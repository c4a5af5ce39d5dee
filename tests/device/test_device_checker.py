"""The checker: each kind of defect is caught with its place, and a correct twin is not reported."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from device_support import PROGRAMS, WAVES, build, has_addr2line, run

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.real

SOURCE = PROGRAMS / "defects.hip"
KINDS = {
    "out_of_bounds": "out-of-bounds",
    "partly_out_of_bounds": "out-of-bounds",
    "shared_out_of_bounds": "out-of-bounds",
    "dynamic_shared_out_of_bounds": "out-of-bounds",
    "use_after_free": "use-after-free",
    "uninitialised": "uninitialised-read",
    "uninitialised_copy": "uninitialised-read",
    "uninitialised_after_copy": "uninitialised-read",
    "uninitialised_shared": "uninitialised-read",
    "divergent_barrier": "divergent-barrier",
    "missed_barrier": "divergent-barrier",
    "inactive_lane": "inactive-lane",
    "shared_race": "shared-race",
    "missing_second_barrier": "shared-race",
    "lane_race": "shared-race",
    "byte_race": "global-race",
    "global_race": "global-race",
    "host_access": "host-access",
    "missing_dependency": "missing-dependency",
    "missing_wait": "missing-dependency",
}
PLACES = {
    "out_of_bounds": ("fill", "x[threadIdx.x] = 1"),
    "shared_race": ("reversed", "row[t - 1]"),
    "inactive_lane": ("half_of_the_lanes", "__shfl_xor"),
    "missing_dependency": ("copy", "to[threadIdx.x] = from[threadIdx.x]"),
}
"""Kernel and line of those whose place is looked at."""

LINE = re.compile(r"^HIP device: ([a-z-]+): (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def defects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with every defect, compiled with checks."""
    return build(SOURCE, tmp_path_factory.mktemp("defects") / "defects", checked=True)


def reported(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {kind for kind, _ in LINE.findall(done.stderr)}


@pytest.mark.parametrize("arch", WAVES.values())
@pytest.mark.parametrize("name", KINDS)
def test_a_defect_is_caught(defects: Path, name: str, arch: str) -> None:
    done = run(defects, name, arch=arch, check="1")
    assert KINDS[name] in reported(done), done.stderr


@pytest.mark.parametrize("arch", WAVES.values())
@pytest.mark.parametrize("name", KINDS)
def test_its_correct_twin_is_not_reported(defects: Path, name: str, arch: str) -> None:
    done = run(defects, name, "twin", arch=arch, check="1")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("name", PLACES)
def test_the_place_is_named(defects: Path, name: str) -> None:
    kernel, text = PLACES[name]
    done = run(defects, name, check="1")
    message = next(m for kind, m in LINE.findall(done.stderr) if kind == KINDS[name])
    assert f"kernel {kernel}, block (0,0,0), thread (" in message
    if not has_addr2line():
        pytest.skip("source lines need addr2line")
    line = next(i for i, each in enumerate(SOURCE.read_text().splitlines(), 1) if text in each)
    assert f"{SOURCE}:{line}" in message


def test_every_defect_of_the_program_is_tested(defects: Path) -> None:
    assert set(run(defects).stdout.split()) == set(KINDS)


def test_host_access_ends_the_program(defects: Path) -> None:
    assert run(defects, "host_access", check="1").returncode < 0


def test_without_the_checker_the_same_program_runs(defects: Path) -> None:
    done = run(defects, "shared_race")
    assert done.returncode == 0
    assert reported(done) == set()


def test_code_without_checks_is_refused_by_the_checker(tmp_path: Path) -> None:
    program = build(PROGRAMS / "numbers.hip", tmp_path / "numbers")
    assert run(program, check="1").returncode == 0  # it has no kernels
    program = build(SOURCE, tmp_path / "defects")
    done = run(program, "shared_race", check="1")
    assert "it was compiled without checks" in done.stderr
    assert done.returncode == 1


def test_findings_are_in_the_report(defects: Path, tmp_path: Path) -> None:
    run(defects, "global_race", check="1", report=str(tmp_path))
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    (finding,) = report["findings"]
    assert (finding["kind"], finding["kernel"], finding["times"]) == (
        "global-race",
        "between_blocks",
        3,
    )
    assert report["kernels"]["between_blocks"] == 1
    assert report["kernels"]["fill"] == 0
    assert report["calls"]["hipMalloc"] == 1
    assert report["threads"] == 4
    assert report["arch"] == WAVES[32]
