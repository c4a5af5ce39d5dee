"""The cross-check on the real candle, on the CPU device."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE

from portkit.engine.plan import build_plan
from portkit.engine.session import scan_tree
from portkit.fetch import fetch
from portkit.numerics.program_crate import place_program
from portkit.profiles.settings import NAME
from portkit.transaction.transaction import write_plan
from tools.proof import operations
from tools.proof.mutation import load_mutants, seeded

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real]


def made(folder: Path, said: str = "") -> Path:
    """Return a ported candle, made in a new folder as a portkit.toml says."""
    root = folder / "candle"
    fetch("candle@0.11.1", root)
    (root / NAME).write_text(said, encoding="utf-8")
    write_plan(root, build_plan(scan_tree(root)).changes)
    return root


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("proof"))


@pytest.fixture
def translated(tmp_path: Path) -> Path:
    return made(tmp_path, 'kernels = "translated"\n')


def test_every_mutant_fits_the_port(translated: Path) -> None:
    for mutant in (*load_mutants(CANDLE), *operations.load_mutants(CANDLE)):
        before = (translated / mutant.file).read_text(encoding="utf-8")
        with seeded(translated, mutant):
            assert (translated / mutant.file).read_text(encoding="utf-8") != before


@pytest.mark.slow
def test_every_operation_is_as_it_should_be(job: Path, tmp_path: Path) -> None:
    report = tmp_path / "crosscheck.md"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tools.proof", "crosscheck", str(job)),
            *("--wave", "32,64", "--cases", "24", "--report", str(report)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "kernels launched" in done.stdout
    assert "## gfx90a, wave 64" in report.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_program_s_own_arithmetic(job: Path) -> None:
    """Its unit tests, which need a candle to compile with and no device."""
    crate = place_program(job, "candle")
    done = subprocess.run(
        ["cargo", "test"],
        cwd=crate,
        env={**os.environ, "CANDLE_ROCM_KERNELS": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "test result: ok" in done.stdout
