"""Tests of one group run in one worker, which what they share is made for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import os
import pathlib

import pytest

pytestmark = pytest.mark.xdist_group("a group")


@pytest.mark.parametrize("number", range(8))
def test_it(number):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    (pathlib.Path(__file__).parent / f"{worker}-{number}-FILE").touch()
"""


def test_a_group_stays_in_one_worker(tmp_path: Path) -> None:
    for file in ("one", "other"):
        (tmp_path / f"test_{file}.py").write_text(TESTS.replace("FILE", file))
    options = ("-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "-c", "/dev/null")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "16 passed" in done.stdout, done.stdout + done.stderr
    assert len({place.name.split("-")[0] for place in tmp_path.glob("gw*")}) == 1
