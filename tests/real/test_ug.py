"""Kernels of ug on the CPU device, as the port's generator writes them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from portkit.cache import cache_folder
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

CRATES = Path(__file__).parents[2] / "crates"
EACH = 364
"""Each operation, type, number of threads and constant of `each.rs`."""
RANDOM = 300
"""Of each of two kinds."""


def run(folder: Path, *command: str, wave: int = 32) -> str:
    """Run a command on the CPU device, and return what it wrote."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    target = str(cache_folder() / "target" / "tests")
    done = subprocess.run(
        [sys.executable, "-m", "portkit", "device", "--wave", str(wave), "--", *command],
        cwd=folder,
        env={**os.environ, "CARGO_TARGET_DIR": target, "CARGO_TERM_COLOR": "never"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("version", ["0.9.1", pytest.param("0.10.2", marks=pytest.mark.slow)])
def test_every_kernel_is_as_it_should_be(
    ported: Callable[[str], Path], tmp_path: Path, version: str, wave: int
) -> None:
    (tmp_path / "candle").symlink_to(ported(version))
    for crate in ("crosscheck", "generated"):
        shutil.copytree(CRATES / crate, tmp_path / crate)
    said = run(tmp_path / "generated", "cargo", "run", "--quiet", "--", "1", str(RANDOM), wave=wave)
    counted = re.findall(r"^(\d+) operations, (\d+) random kernels, (\d+) differ$", said, re.M)
    assert counted == [(str(EACH), str(2 * RANDOM), "0")]


def test_the_generator_s_own_tests(ported: Callable[[str], Path]) -> None:
    said = run(ported("0.9.1"), "cargo", "test", "--quiet", "-p", "candle-ug-rocm")
    assert "6 passed" in said


@pytest.mark.slow
@pytest.mark.parametrize(("version", "features"), [("0.9.1", "rocm"), ("0.10.2", "rocm,ug")])
@pytest.mark.parametrize("wave", [32, 64])
def test_candle_s_own_test(
    ported: Callable[[str], Path], version: str, features: str, wave: int
) -> None:
    command = ("cargo", "test", "-p", "candle-core", "--features", features)
    named = ("--test", "custom_op_tests", "ug_op")
    assert "1 passed" in run(ported(version), *command, *named, wave=wave)
