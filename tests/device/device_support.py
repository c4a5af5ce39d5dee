"""What the tests of the CPU device share: its tree, and programs that run on it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.toolkit import Toolkit, build_toolkit
from portkit.hipify.prelude import PRELUDE_FOLDER
from portkit.shipped import shipped

PROGRAMS = Path(__file__).parent / "programs"
PRELUDE = shipped(f"{PRELUDE_FOLDER}/src/device")
WAVES = {32: "gfx1100", 64: "gfx90a"}


@cache
def toolkit() -> Toolkit:
    """Return the tree, or skip the test where there is no compiler to make it with."""
    try:
        find_cxx()
    except NoCompilerError as error:
        pytest.skip(str(error))
    return build_toolkit()


def hipcc(*arguments: str | Path, checked: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the compiler."""
    command = [str(toolkit().hipcc(checked=checked)), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def build(source: Path, output: Path, *arguments: str | Path, checked: bool = False) -> Path:
    """Compile a program for both widths of wavefronts."""
    archs = [f"--offload-arch={arch}" for arch in WAVES.values()]
    done = hipcc(*archs, *arguments, source, "-o", output, checked=checked)
    assert done.returncode == 0, done.stderr
    return output


def run(
    program: Path, *arguments: str | Path, arch: str = WAVES[32], **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program on the device; settings are the ends of ``PORTKIT_DEVICE_…`` variables."""
    environment = toolkit().environment(arch=arch)
    environment |= {f"PORTKIT_DEVICE_{name.upper()}": value for name, value in settings.items()}
    return subprocess.run(
        [str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


def checks(output: str) -> dict[str, bool]:
    """Return what a program of ``programs/check.h`` checked and whether it holds."""
    lines = [line.partition(" ") for line in output.splitlines()]
    return {what: verdict == "ok" for verdict, _, what in lines if verdict in ("ok", "FAILED")}


def assert_all_hold(done: subprocess.CompletedProcess[str], least: int) -> None:
    """Ask that a program ended well and checked as many things as it has to."""
    found = checks(done.stdout)
    assert [what for what, holds in found.items() if not holds] == []
    assert done.returncode == 0, done.stderr
    assert len(found) >= least


def has_addr2line() -> bool:
    """Whether source lines can be found."""
    return shutil.which("addr2line") is not None
