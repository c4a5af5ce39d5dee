"""ROCm as AMD's packages lay it out, for tests that build with it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "ci" / "amd-layout"


def amd_layout(release: str) -> Path:
    """Return the prefix of ROCm 6 or 7, made if it is not there; skip without ci/toolchain."""
    made = subprocess.run([SCRIPT, release], capture_output=True, text=True, check=False)
    if "not installed" in made.stderr:
        pytest.skip("ci/toolchain has not installed hipcc")
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def environment_with(rocm: Path) -> dict[str, str]:
    """Return an environment whose only ROCm is the one below a prefix."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CANDLE_") and name not in ("HIPCC", "HIP_PATH", "ROCM_INCLUDE")
    }
    folders = kept["PATH"].split(os.pathsep)
    path = os.pathsep.join(f for f in folders if not Path(f, "hipcc").exists())
    return kept | {"PATH": path, "ROCM_PATH": str(rocm), "CANDLE_ROCM_ARCHS": "gfx1100"}
