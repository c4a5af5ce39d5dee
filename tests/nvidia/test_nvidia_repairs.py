"""What runs the tests of repairs on a GPU; shell scripts stand in for the programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).resolve().parents[2] / "ci" / "nvidia"

PROGRAM = """\
#!/bin/sh
case "$*" in
*--list*) printf 'gather_part_tests::a: test\\nlaunch_errors_tests::b: test\\n' ;;
*{failing}*) echo "thread 'x' panicked at it: {failing}" >&2; exit 101 ;;
esac
"""


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
