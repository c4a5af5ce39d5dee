"""What docs/device.md says the libraries answer is what they answer."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from device_support import toolkit

from portkit.device.stubs import read_exported_names
from portkit.device.toolkit import LIBRARIES

pytestmark = pytest.mark.real

PAGE = (Path(__file__).parents[2] / "docs" / "device.md").read_text()


@pytest.mark.parametrize("library", [each.name for each in LIBRARIES])
def test_the_page_lists_what_is_answered(library: str) -> None:
    section = PAGE.split(f"\n**{library}**\n\n")[1].split("\n\n")[0]
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("it needs nm (binutils)")
    done = subprocess.run(
        [nm, "--dynamic", "--defined-only", toolkit().root / "lib" / f"lib{library}.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    # Strong functions are answered; weak ones say that they are not supported.
    symbols = [line.split()[1:] for line in done.stdout.splitlines()]
    strong = {name for kind, name in symbols if kind == "T"}
    weak = {name for kind, name in symbols if kind == "W"}
    own = re.compile(r"hipcpu|__tsan|__wrap|_Z")
    assert set(re.findall(r"`(\w+)`", section)) == {n for n in strong if not own.match(n)}
    assert set(read_exported_names(library)) <= strong | weak


def test_what_is_not_answered_says_so() -> None:
    hip = ctypes.CDLL(str(toolkit().root / "lib" / "libamdhip64.so"))
    assert hip.hipTexObjectCreate() == 801  # hipErrorNotSupported
