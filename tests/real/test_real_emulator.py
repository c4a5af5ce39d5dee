"""AMD's emulator itself, where it is installed: HIP programs that hipcc compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from cli_support import add_file

from portkit.errors import ToolError
from portkit.verify.emulator import VARIABLE, find_emulator
from portkit.verify.options import EMULATED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.real,
    pytest.mark.hipcc,
    pytest.mark.skipif(
        not (os.environ.get(VARIABLE) or shutil.which("rocjitsu")),
        reason="AMD's emulator is not installed",
    ),
]

HEAD = """\
#include <hip/hip_runtime.h>
#include <cstdio>
"""
MAIN = """
int main() {
    int *values, found[64];
    if (hipMalloc(&values, sizeof found) != hipSuccess) return 2;
    kernel<<<1, 64>>>(values);
    if (hipDeviceSynchronize() != hipSuccess) return 3;
    if (hipMemcpy(found, values, sizeof found, hipMemcpyDeviceToHost) != hipSuccess) return 4;
    int wrong = 0;
    for (int i = 0; i < 64; i++) wrong += found[i] != 3 * i;
    printf("%d wrong\\n", wrong);
    return wrong != 0;
}
"""
RIGHT = "__global__ void kernel(int *o) { o[threadIdx.x] = 3 * threadIdx.x; }"
# An instruction of global wave synchronization, which emulators have little use for.
LACKING = (
    '__global__ void kernel(int *o) { unsigned one = 1; asm volatile("ds_gws_barrier %0 gds"'
    ' :: "v"(one)); o[threadIdx.x] = 0; }'
)


def run(folder: Path, kernel: str) -> subprocess.CompletedProcess[str]:
    """Compile a kernel with its program, and run that on the emulator."""
    emulator = find_emulator(EMULATED)
    add_file(folder, "program.hip", (HEAD + kernel + MAIN).encode())
    hipcc = os.environ.get("HIPCC", "hipcc")
    arch = f"--offload-arch={EMULATED}"
    subprocess.run([hipcc, arch, "program.hip", "-o", "program"], cwd=folder, check=True)
    return subprocess.run(
        [*emulator.command, folder / "program"],
        capture_output=True,
        text=True,
        env={**os.environ, "ROCJITSU_RUNTIME_DIR": str(folder)},
        timeout=300,
        check=False,
    )


def test_a_program_computes_on_it(tmp_path: Path) -> None:
    done = run(tmp_path, RIGHT)
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr


def test_a_missing_instruction_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, LACKING)
    assert done.returncode != 0
    assert "  what():  Unimplemented instruction: ds_gws_barrier\n" in done.stderr


def test_every_gpu_is_listed() -> None:
    with pytest.raises(ToolError, match=r" has no gfx900, but gfx1100, "):
        find_emulator("gfx900")
