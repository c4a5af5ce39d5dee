"""How many bytes of a device's memory are read and written, as the checker counts them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from device_support import PROGRAMS, WAVES, build, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

N = 256
FLOAT = 4
BOTH = N * FLOAT
FILLED = 2 * BOTH
"""What every run writes first."""

LINE = 64
EXPECTED = {
    "nothing": (0, 0, 0),
    "copy": (BOTH, BOTH, BOTH),
    "wide": (BOTH, BOTH, BOTH),
    "large": (BOTH, BOTH, BOTH),
    "shared": (BOTH, BOTH, BOTH),
    "again": (N * BOTH, BOTH, BOTH),
    # An atomic operation reads and writes what it changes, and each thread reads its own value.
    "add": (2 * BOTH, BOTH + LINE, BOTH),
    "device to device": (64, 64, 64),
    "from the host": (0, 0, 8),
    "to the host": (FLOAT, FLOAT, 0),
    "freed": (0, 0, 0),
    "product": ((8 * 16 + 16 * 4) * FLOAT, (8 * 16 + 16 * 4) * FLOAT, 8 * 4 * FLOAT),
    "twice": (2 * BOTH, 2 * BOTH, 2 * BOTH),
    # One of the 16 values of each line.
    "one of a line": (BOTH // 16, BOTH, BOTH // 16),
}
"""Bytes that work reads, those that a cache fetches for it, and those that it writes."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("traffic") / "traffic"
    return build(PROGRAMS / "traffic.hip", output, "-lrocblas", checked=True)


@pytest.mark.parametrize("arch", WAVES.values())
@pytest.mark.parametrize("what", EXPECTED)
def test_bytes_are_counted_as_often_as_they_are_asked_for(
    program: Path, tmp_path: Path, what: str, arch: str
) -> None:
    done = run(program, what, arch=arch, check="1", report=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (report,) = tmp_path.glob("*.json")
    read, fetched, written = EXPECTED[what]
    seen = json.loads(report.read_text())["traffic"]
    assert seen == {"read": read, "fetched": fetched, "written": FILLED + written}


def test_nothing_is_said_where_nothing_is_counted(program: Path, tmp_path: Path) -> None:
    run(program, "copy", report=str(tmp_path))
    (report,) = tmp_path.glob("*.json")
    assert "traffic" not in json.loads(report.read_text())
