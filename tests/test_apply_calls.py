"""Every call of the C library that touches the tree or the journal fails once: nothing is lost.

Beside tests/test_apply_faults.py, which fails the operations that portkit knows of: here also those
fail that nobody thought of, such as looking at a file, listing a folder, or closing.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from calls_support import Failures, library, needs_compiler

pytestmark = needs_compiler

DRIVER = Path(__file__).parent / "calls" / "failing.py"


def failing(
    tmp_path: Path, action: str, place: str, code: int, *, first: int = 0, step: int = 1
) -> dict[str, int]:
    """Have each call of an action fail once, and return how it went."""
    # In memory where the system has such a folder: the tree is made anew for each call.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        failures = Failures(Path(folder) / "calls")
        failures.prepare()
        variables = {
            "CALLS_STATE": str(failures.file),
            "LD_PRELOAD": str(library(tmp_path)),
            "PYTHONPATH": os.pathsep.join(map(str, (DRIVER.parents[1], DRIVER.parents[2]))),
        }
        words = (f"{folder}/base", action, place, code, first, step)
        done = subprocess.run(
            [sys.executable, DRIVER, *map(str, words)],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["lost"], "\n".join(found["lost"][:10])
    counts: dict[str, int] = found["counts"]
    return counts


def test_each_call_fails_once(tmp_path: Path) -> None:
    counts = failing(tmp_path, "write", "git", errno.EIO)
    # 347 where this was written: opening, reading, writing, naming, listing, looking, closing.
    assert counts["calls"] > 250
    assert counts["refused, before"] > 150
    assert counts["refused, after"] > 10  # after the commit the run goes forward
    assert counts["went on, after"] > 10  # what a run can do without, such as links


@pytest.mark.real
@pytest.mark.parametrize("place", ["git", "state", "in tree"])
@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_each_call_fails_once_with_each_error(tmp_path: Path, code: int, place: str) -> None:
    assert failing(tmp_path, "write", place, code)["calls"] > 250


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_each_call_of_the_whole_command_fails_once(tmp_path: Path, code: int) -> None:
    """Reading the tree, git's own calls on it, and writing."""
    assert failing(tmp_path, "apply", "git", code)["calls"] > 1000
