"""Between a program and the C library: what it opens and runs, and calls that fail (calls.c)."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SOURCE = Path(__file__).parent / "calls" / "calls.c"
_COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")

needs_compiler = pytest.mark.skipif(
    _COMPILER is None or not Path("/proc/self/fd").is_dir(), reason="NO C COMPILER"
)
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="NO STRACE")

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


@dataclass(frozen=True)
class Calls:
    """What a program and those that it started have opened and run, by absolute path."""

    opened: frozenset[str]
    run: frozenset[str]


def recorded(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], shim: Path
) -> tuple[Calls, subprocess.CompletedProcess[str]]:
    """Run a command and return what it tried to open and to run, also what was not there.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        environment: its variables.
        shim: what ``library`` has made.
    """
    log = shim.with_suffix(".log")
    log.write_bytes(b"")
    variables = {**environment, "LD_PRELOAD": str(shim), "CALLS_LOG": str(log)}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=120
    )
    found: dict[str, set[str]] = {"open": set(), "run": set()}
    for line in log.read_text(errors="surrogateescape").splitlines():
        call, _, path = line.partition("\t")
        found[call].add(os.path.normpath(path))
    return Calls(frozenset(found["open"]), frozenset(found["run"])), done


# A line of strace -f -y: who, the call, its folder, a path, and what came of it (strace(1)).
_LINE = re.compile(
    r'\d+ +(open|openat|openat2|creat|execve|execveat)\((?:[\w-]+<([^>]*)>, )?"((?:[^"\\]|\\.)*)".*'
)


def traced(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path
) -> tuple[Calls, subprocess.CompletedProcess[str]]:
    """Do as ``recorded``, by strace: what the system is asked for, past the C library too."""
    names = "trace=open,openat,openat2,creat,execve,execveat"
    wrapped = ["strace", "-f", "-y", "-s", "4096", "-e", names, "-o", str(log), *command]
    done = subprocess.run(
        wrapped, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    opened: set[str] = set()
    run: set[str] = set()
    for line in log.read_text(errors="surrogateescape").splitlines():
        if found := _LINE.match(line):
            call, at, path = found.groups()
            (run if call.startswith("exec") else opened).add(
                os.path.normpath(Path(at or folder) / path)
            )
    return Calls(frozenset(opened), frozenset(run)), done
