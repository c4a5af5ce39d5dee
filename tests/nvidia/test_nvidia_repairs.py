"""What builds the tests of repairs and what runs them on a GPU; scripts stand in for programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from apply_support import git

HARNESS = Path(__file__).resolve().parents[2] / "ci" / "nvidia"

PROGRAM = """\
#!/bin/sh
case "$*" in
*--list*) printf 'gather_part_tests::a: test\\nlaunch_errors_tests::b: test\\n' ;;
*{failing}*) echo "thread 'x' panicked at it: {failing}" >&2; exit 101 ;;
esac
"""

# Notes for which GPU it builds what, and gives a program for each file of tests.
CARGO = """\
#!{python}
import json, os
from pathlib import Path
here, crate = Path(__file__).parent, Path.cwd()
with (here / "calls").open("a") as calls:
    print(crate.name, os.environ["CUDA_COMPUTE_CAP"], file=calls)
for name in ("repairs", *sorted(path.stem for path in crate.glob("tests/*.rs"))):
    print(json.dumps({{"executable": "/bin/true", "profile": {{"test": True}},
                      "target": {{"name": name}}}}))
"""


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """The trees before and after the repairs, as they lie from an earlier run, and a cargo."""
    after = tmp_path / "output" / "after"
    after.mkdir(parents=True)
    (after / "Cargo.toml").write_text('[workspace.dependencies]\nfloat8 = { version = "0.7.1" }\n')
    git(after, "init", "--quiet")
    git(after, "config", "user.name", "a person")
    git(after, "config", "user.email", "person@example.org")
    git(after, "add", "--all")
    git(after, "commit", "--quiet", "--message", "as published")
    shutil.copytree(after, after.with_name("before"))
    tests = after / "candle-core" / "tests"
    tests.mkdir(parents=True)
    for name in ("gather_part_tests", "quantized_alignment_tests"):
        (tests / f"{name}.rs").write_text("// a test\n")
    git(after, "add", "--all")
    git(after, "commit", "--quiet", "--message", "repaired")
    tools = tmp_path / "cuda" / "bin"
    tools.mkdir(parents=True)
    (tools.parent / "include").mkdir()
    (tools.parent / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
    (tools / "cargo").write_text(CARGO.format(python=sys.executable))
    (tools / "cargo").chmod(0o755)
    return after.parent


def test_all_is_built_before_and_after_and_for_another_gpu(trees: Path) -> None:
    cuda = trees.with_name("cuda")
    environment = os.environ | {"CUDA_HOME": str(cuda), "CUDA_COMPUTE_CAP": "90"}
    command = (sys.executable, HARNESS / "repairs.py", "--output", trees)
    subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    pack = trees / "pack"
    found = {path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()}
    builds = ("before", "before-other", "after", "after-other")
    programs = ("every", "quantized_alignment_tests")
    assert found == {"run.py", *(f"{build}/{name}" for build in builds for name in programs)}
    calls = (cuda / "bin" / "calls").read_text().splitlines()
    assert calls == ["before 90", "before 80", "after 90", "after 80"]
    for name in ("before", "after"):
        crate = trees / "crates" / name
        modules = (crate / "tests" / "every.rs").read_text().splitlines()
        assert modules[-1] == "mod gather_part_tests;"
        manifest = (crate / "Cargo.toml").read_text()
        assert f'path = "{trees}/{name}/candle-core"' in manifest
        assert 'float8 = "0.7"' in manifest


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    place = tmp_path / "pack"
    for folder, failing in (
        ("before", "gather_part"),
        ("before-other", "launch_errors"),
        ("after", "nothing"),
        ("after-other", "nothing"),
    ):
        (place / folder).mkdir(parents=True)
        (place / folder / "every").write_text(PROGRAM.format(failing=failing))
        (place / folder / "every").chmod(0o755)
    shutil.copy(HARNESS / "run_repairs.py", place / "run.py")
    return place


def run(pack: Path) -> tuple[int, dict[str, dict[str, str]]]:
    file = pack / "results.json"
    command = (sys.executable, pack / "run.py", file)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(file.read_text())["tests"]


def test_each_is_run_before_and_after_and_launches_for_another_gpu(pack: Path) -> None:
    code, found = run(pack)
    assert code == 0
    assert list(found) == ["gather_part_tests::a", "launch_errors_tests::b"]
    for ends in found.values():
        assert ends["before"].startswith("fails (101): thread 'x' panicked")
        assert ends["after"] == "passes"


def test_one_that_does_not_pass_after_is_a_failure(pack: Path) -> None:
    (pack / "after" / "every").write_text(PROGRAM.format(failing="gather_part"))
    assert run(pack)[0] == 1
