"""The ported candle, built with ROCm as AMD's packages lay it out (``ci/amd-layout``)."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from amd_layout_support import amd_layout, environment_with
from port_of_candle import PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.hipcc,
    pytest.mark.xdist_group(PRODUCTS),
]

VERSION = "0.11.1"


@pytest.mark.parametrize("release", ["6", "7"])
def test_candle_is_built_and_its_tests_are_linked(
    release: str, ported: Callable[[str], Path], tmp_path: Path
) -> None:
    tree = tmp_path / "candle"
    shutil.copytree(ported(VERSION), tree)
    environment = environment_with(amd_layout(release))
    for command in (["build"], ["test", "--no-run"]):
        done = subprocess.run(
            ["cargo", *command, "--package", "candle-core", "--features", "rocm"],
            cwd=tree,
            env={**environment, "CARGO_TARGET_DIR": str(tmp_path / "target")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
