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
from port_of_candle import PRODUCTS
from turns import turn

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(PRODUCTS)]

CRATES = Path(__file__).parents[2] / "crates"
EACH = 364
"""Each operation, type, number of threads and constant of `each.rs`."""
RANDOM = 300
"""Of each of two kinds."""
AS_THEY_SHOULD_BE = [(str(EACH), str(2 * RANDOM), "0")]
WAVES = (32, 64)


def counted(said: str) -> list[tuple[str, ...]]:
    """Return how many operations and random kernels were compared, and how many differ."""
    return re.findall(r"^(\d+) operations, (\d+) random kernels, (\d+) differ$", said, re.M)


def run(folder: Path, *command: str, wave: int = 32) -> str:
    """Run a command on the CPU device, and return what it wrote."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, "-m", "portkit", "device", "--wave", str(wave), "--", *command],
        cwd=folder,
        env={**os.environ, "CARGO_TERM_COLOR": "never"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.fixture
def kernels(
    ported: Callable[[str], Path], kept: Callable[[Path], Path], tmp_path: Path
) -> Callable[[str, int], str]:
    """Compare every kernel with what it should give, and return what is said of it."""

    def get(version: str, wave: int) -> str:
        folder = tmp_path / f"ug-{version}"
        folder.mkdir()
        (folder / "candle").symlink_to(ported(version))
        for crate in ("crosscheck", "generated"):
            shutil.copytree(CRATES / crate, folder / crate)
        command = ("cargo", "run", "--quiet", "--", "1", str(RANDOM))
        return run(kept(folder) / "generated", *command, wave=wave)

    return get


def test_every_kernel_is_as_it_should_be_on_the_wavefront_whose_turn_it_is(
    kernels: Callable[[str, int], str],
) -> None:
    (wave,) = turn(WAVES, 1)
    assert counted(kernels("0.9.1", wave)) == AS_THEY_SHOULD_BE


@pytest.mark.slow
@pytest.mark.parametrize("wave", WAVES)
@pytest.mark.parametrize("version", ["0.9.1", "0.10.2"])
def test_every_kernel_is_as_it_should_be(
    kernels: Callable[[str, int], str], version: str, wave: int
) -> None:
    assert counted(kernels(version, wave)) == AS_THEY_SHOULD_BE


def test_the_generator_s_own_tests(ported: Callable[[str], Path]) -> None:
    said = run(ported("0.9.1"), "cargo", "test", "--quiet", "-p", "candle-ug-rocm")
    assert "6 passed" in said


@pytest.mark.slow
@pytest.mark.parametrize(("version", "features"), [("0.9.1", "rocm"), ("0.10.2", "rocm,ug")])
@pytest.mark.parametrize("wave", WAVES)
def test_candle_s_own_test(
    ported: Callable[[str], Path], version: str, features: str, wave: int
) -> None:
    command = ("cargo", "test", "-p", "candle-core", "--features", features)
    named = ("--test", "custom_op_tests", "ug_op")
    assert "1 passed" in run(ported(version), *command, *named, wave=wave)
