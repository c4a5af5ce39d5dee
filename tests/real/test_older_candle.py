"""Candle from before 0.9, which is written against the cudarc of before 0.14.

The versions from 0.9 on have `test_versions.py`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from cli_support import invoke
from port_of_candle import TYPES

from portkit.codebases.registry import find_codebase
from portkit.errors import UnsupportedVersionError
from tools.proof.versions.asked import GATINGS, load_crates, port, typed

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(TYPES)]

SLOW = pytest.mark.slow
VERSIONS = ("0.7.2", "0.8.4", *(pytest.param(v, marks=SLOW) for v in ("0.7.0", "0.7.1", "0.8.3")))
HALF = "2.4.1"
"""Candle 0.7 asks for a half from 2.3.1 on; from 2.5 on it takes another rand than candle does, so
that upstream's own code does not type-check."""

Pristine = Callable[[str], Path]


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_ported(pristine: Pristine, tmp_path: Path, version: str, gating: str) -> None:
    assert port(pristine(version), tmp_path / "port", gating) == ()


@SLOW
@pytest.mark.parametrize("version", ["0.8.0", "0.8.1", "0.8.2"])
def test_an_older_ug_is_refused(pristine: Pristine, version: str) -> None:
    done = invoke("apply", pristine(version), "--check")
    assert done.code == UnsupportedVersionError.exit_code
    assert "asks for ug-cuda 0.0.2" in done.err


@SLOW
@pytest.mark.parametrize("version", ["0.7.2", "0.8.4"])
def test_it_type_checks(pristine: Pristine, tmp_path: Path, version: str) -> None:
    target = Path(os.environ["CARGO_TARGET_DIR"])
    for gating, features in product(GATINGS, ((), ("rocm",), ("rocm", "rocm-flash-attn"))):
        tree = tmp_path / gating
        if not tree.exists():
            assert port(pristine(version), tree, gating) == ()
            if version.startswith("0.7."):
                pin = ("cargo", "update", "--package", "half", "--precise", HALF)
                subprocess.run(pin, cwd=tree, check=True)
        found = typed(tree, features, target, load_crates(find_codebase("candle")))
        if found.libraries:
            pytest.skip(f"upstream's build script is linked with {', '.join(found.libraries)}")
        assert found.errors == ()
