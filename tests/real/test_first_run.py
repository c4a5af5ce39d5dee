"""A whole trial on the CPU device: the second codebase, which is small, and what candle adds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import commit, environment

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.selftest.document import read_trial

pytestmark = pytest.mark.real

TARN = Path(__file__).parents[1] / "fixtures" / "codebases" / "tarn"


def on_the_cpu_device(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return subprocess.run(
        [sys.executable, "-m", "portkit", "trial", "--device", "cpu", *map(str, arguments)],
        cwd=folder,
        env=environment() | {"CARGO_TARGET_DIR": str(cache_folder() / "target" / "second")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_trial_from_a_tree_to_its_report(tmp_path: Path) -> None:
    tarn = tmp_path / "tarn"
    shutil.copytree(TARN / "tree", tarn)
    commit(tarn)
    done = on_the_cpu_device(tmp_path, tarn, "--profile", TARN / "profile", "--report", "a.html")
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    found = read_trial(tmp_path / "a.html")
    steps = {step["step"]: step for step in found["steps"]}
    assert {name for name, step in steps.items() if step["verdict"] == "passed"} >= {
        *("apply", "coverage", "parity", "build", "tests"),
    }
    assert {name for name, step in steps.items() if step["verdict"] == "skipped"} >= {
        *("fetch", "crosscheck", "throughput"),
    }
    assert steps["tests"]["figures"]["kernels launched"] == 5
    assert all(test["result"] == "ok" for test in steps["tests"]["tests"])
    text = (tmp_path / "a.html").read_text()
    for private in (str(tmp_path), str(Path.home()), os.uname().nodename + "."):
        assert private not in text
    # The time limit ends what compiles, with all that it has started, and what comes after is told.
    limits = ("--limit", "build=2", "--only", "fetch,apply,build,tests")
    done = on_the_cpu_device(
        tmp_path, tarn, "--profile", TARN / "profile", *limits, "--report", "b.html"
    )
    assert done.returncode == 1, done.stdout
    late = {step["step"]: step for step in read_trial(tmp_path / "b.html")["steps"]}
    assert late["build"]["evidence"][0] == "ended after 2 s, its limit"
    assert late["build"]["seconds"] < 60
    assert late["tests"]["verdict"] == "not taken"
    compared = on_the_cpu_device(tmp_path, "--compare", "a.html", "b.html")
    assert "differ" in compared.stdout
