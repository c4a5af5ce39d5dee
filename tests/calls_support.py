"""Between a program and the C library: what it opens and runs, and calls that fail (calls.c)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parent / "calls" / "calls.c"
_COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")

needs_compiler = pytest.mark.skipif(
    _COMPILER is None or not Path("/proc/self/fd").is_dir(), reason="NO C COMPILER"
)

# `struct state` of calls.c.
_NUMBERS = struct.Struct("@llll")
_SIZE = _NUMBERS.size + 4096


def library(folder: Path) -> Path:
    """Compile calls.c into a folder."""
    made = folder / "calls.so"
    options = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
    subprocess.run([_COMPILER or "cc", *options, "-o", made, _SOURCE, "-ldl"], check=True)
    return made


@dataclass(frozen=True)
class Failures:
    """Which call that touches a folder fails, for all processes that share a file."""

    file: Path

    def prepare(self) -> None:
        """Make the file, with which no call fails."""
        self.file.write_bytes(_NUMBERS.pack(0, -1, 0, 0).ljust(_SIZE, b"\0"))

    def arm(self, folder: Path, at: int, error: int, *, ever: bool = False) -> None:
        """Have the n-th call from now on fail; with ``ever`` all that follow too."""
        content = _NUMBERS.pack(0, at, error, ever) + os.fsencode(folder)
        self._write(content.ljust(_SIZE, b"\0"))

    def disarm(self) -> int:
        """Have no call fail any more, and return how many have been counted."""
        with self.file.open("rb") as file:
            count = int(_NUMBERS.unpack(file.read(_NUMBERS.size))[0])
        self._write(_NUMBERS.pack(0, -1, 0, 0).ljust(_SIZE, b"\0"))
        return count

    def _write(self, content: bytes) -> None:
        with self.file.open("r+b") as file:  # in place: others have it mapped
            file.write(content)
