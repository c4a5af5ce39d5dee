"""How `make test` comes by what it needs, and what it says where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from turns import by_turn
from verify_support import script

CI = Path(__file__).parents[1] / "ci"


def with_hipcc(
    folder: Path, toolchain: str, mode: str, headers: str = "true"
) -> subprocess.CompletedProcess[str]:
    """Run ci/with-hipcc beside stand-ins for what it fetches by, where no hipcc is installed."""
    shutil.copy(CI / "with-hipcc", folder)
    script(folder / "toolchain", toolchain)
    script(folder / "rocm-headers", headers)
    return subprocess.run(
        [folder / "with-hipcc", "sh", "-c", "echo ran with $HIPCC$ROCM_INCLUDE"],
        env={"PATH": "/usr/bin:/bin", "HIPCC": str(folder / "none"), "PORTKIT_HIPCC": mode},
        capture_output=True,
        text=True,
        check=False,
    )


FOUND = "echo 'export HIPCC=/made/hipcc'"
LOST = "echo 'ci/toolchain: no archive' >&2; exit 1"
HEADERS = "echo 'export ROCM_INCLUDE=:/made/include'"


@pytest.mark.parametrize(
    ("toolchain", "headers", "mode", "code", "said"),
    [
        (FOUND, HEADERS, "", 0, "ran with /made/hipcc:/made/include\n"),
        (FOUND, HEADERS, "require", 0, "ran with /made/hipcc:/made/include\n"),
        (LOST, HEADERS, "require", 1, ""),
        (FOUND, LOST, "require", 1, ""),
        (FOUND, HEADERS, "maybe", 2, ""),
    ],
)
def test_hipcc_is_brought_or_missed(
    tmp_path: Path, toolchain: str, headers: str, mode: str, code: int, said: str
) -> None:
    done = with_hipcc(tmp_path, toolchain, mode, headers)
    assert (done.returncode, done.stdout) == (code, said)
    assert (code == 0) != ("PORTKIT_HIPCC" in done.stderr)


def test_without_hipcc_the_command_runs_and_that_is_said_aloud(tmp_path: Path) -> None:
    done = with_hipcc(tmp_path, LOST, "")
    assert done.returncode == 0
    loud, ran = done.stdout.splitlines()
    assert "NO HIPCC" in loud
    assert ran == f"ran with {tmp_path}/none"
    # Headers that are not to be had leave out the comparison with them alone.
    done = with_hipcc(tmp_path, FOUND, "", LOST)
    assert (done.returncode, done.stdout) == (0, "ran with /made/hipcc\n")
    # Who asks for none is told nothing, and nothing is tried.
    done = with_hipcc(tmp_path, "exit 9", "no")
    assert (done.returncode, done.stdout) == (0, f"ran with {tmp_path}/none\n")


def test_what_there_was_no_compiler_for_is_counted_at_the_end() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "hipcc", "tests/test_kernels_step.py"],
        cwd=CI.parent,
        env=os.environ | {"HIPCC": "/nowhere/hipcc"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "= NO HIPCC: 1 tests LEFT OUT =" in done.stdout


@pytest.mark.real
@by_turn("bare machines")
def test_bare_machines() -> None:
    """hipcc comes to a user without rights and name spaces; without an archive it is left out."""
    if os.geteuid() != 0 or None in map(shutil.which, ("apt-get", "mount", "unshare")):
        pytest.skip("bare machines are made by root, on Debian or Ubuntu, with mount and unshare")
    compile_one = "hipcc --offload-device-only --offload-arch=gfx1100 -c /tmp/one.hip -o /tmp/one.o"
    source = '#include "hip/hip_runtime.h"\n__global__ void one(float *x) { *x = 1; }'
    commands = {
        "user": f"printf '%s\\n' '{source}' > /tmp/one.hip && ! unshare --map-root-user true"
        f" && PORTKIT_HIPCC=require ci/with-hipcc {compile_one} && test -s /tmp/one.o",
        "no-archive": "ci/with-hipcc true | grep 'NO HIPCC'"
        " && ! PORTKIT_HIPCC=require ci/with-hipcc true",
    }
    for machine, command in commands.items():
        done = subprocess.run(
            [CI / "bare-machines", machine, "--run", command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
