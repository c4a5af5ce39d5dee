"""The port's own modules of kernels, as hipcc compiles them."""

from __future__ import annotations

import re
import subprocess

import pytest

from portkit.hipify.hipcc import find_hipcc
from portkit.shipped import shipped

DEVICE = shipped("crates/build/src/device")
MODULES = sorted(path.name for path in DEVICE.glob("*.hip"))


@pytest.mark.real
@pytest.mark.hipcc
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("module", MODULES)
def test_what_memory_each_instruction_goes_to_is_known(module: str, arch: str) -> None:
    """A FLAT instruction waits for both kinds (LLVM's manual, "AMDGPU", "Memory Model")."""
    asked = [
        "-O3",
        "-std=c++17",
        "-S",
        "-o",
        "-",
        "--offload-device-only",
        f"--offload-arch={arch}",
    ]
    done = subprocess.run(
        [find_hipcc(), *asked, DEVICE / module], capture_output=True, text=True, check=True
    )
    assert "amdhsa_kernel" in done.stdout
    assert not re.findall(r"^\s+(flat_\w+)", done.stdout, re.MULTILINE)
