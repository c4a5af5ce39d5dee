"""The C++ compiler of this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_CANDIDATES: Final = ("g++", "clang++", "c++")
_NEEDED: Final = "__FLT16_MANT_DIG__"
"""What a compiler defines that has half precision."""

_LEVEL_3: Final = frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"})
"""Of the flags in ``/proc/cpuinfo`` those that tell x86-64-v3 (x86-64 psABI, "Micro-Architecture
Levels"): with half precision and fused operations in hardware."""


class NoCompilerError(Exception):
    """There is no C++ compiler that will do; the message says what to install."""


@dataclass(frozen=True)
class Cxx:
    """A C++ compiler."""

    command: tuple[str, ...]  # the program and what always follows it
    version: str  # the first line that ``--version`` writes

    @cached_property
    def is_clang(self) -> bool:
        """Whether it takes clang's options."""
        return "clang" in self.version

    @cached_property
    def machine(self) -> tuple[str, ...]:
        """The options for the processor: the same on all that are of one level."""
        if platform.machine() != "x86_64" or not _has_level_3():
            return ()
        return ("-march=x86-64-v3",)

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run it, with its messages captured."""
        return subprocess.run(
            [*self.command, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


def find_cxx() -> Cxx:
    """Return the compiler that ``PORTKIT_DEVICE_CXX`` names, else the first that will do."""
    named = os.environ.get("PORTKIT_DEVICE_CXX", "").split()
    found = False
    for command in [named] if named else [[name] for name in _CANDIDATES]:
        program = shutil.which(command[0])
        if program is None:
            continue
        found = True
        cxx = Cxx((program, *command[1:]), _read_version(program))
        if _NEEDED in cxx.run(("-dM", "-E", "-x", "c++", os.devnull)).stdout:
            return cxx
    if named:
        what = "is no C++ compiler with _Float16" if found else "is not found"
        raise NoCompilerError(f"PORTKIT_DEVICE_CXX={' '.join(named)} {what}: name another")
    what = "the C++ compiler is too old" if found else "there is no C++ compiler"
    raise NoCompilerError(f"{what}: install g++ 12 or clang++ 15, or a newer one")


def _read_version(program: str) -> str:
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return run.stdout.partition("\n")[0]


def _has_level_3() -> bool:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return set(value.split()) >= _LEVEL_3
    return False
