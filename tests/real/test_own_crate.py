"""The guide to a crate of one's own on a ported candle, literally, on the real candle."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from port_of_candle import PRODUCTS
from test_documentation import AUTHOR, DOCS, in_order
from verify_support import script

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.xdist_group(PRODUCTS)]


def test_every_command_of_the_guide_works(tmp_path: Path) -> None:
    """What is built without a feature, with it, and what the kernel computes on the CPU device."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    page = DOCS / "guide-crate.md"
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin/portkit", f'exec {sys.executable} -m portkit "$@"')
    environment = os.environ | AUTHOR | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    said = ""
    for command, code, files in in_order(page):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)

        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
        said = done.stdout
    assert "test rocm_on_a_gpu ... ok" in said
