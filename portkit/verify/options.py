"""The options of a verification: its steps, its share of the work, and its limits.

A field that decides what a step finds belongs into the step's ``inputs`` too, so that an outcome
which is remembered was found under the same options.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from portkit.profiles.settings import ARCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.codebases.directory import Directory

T = TypeVar("T")


class InvalidOptionError(ValueError):
    """An option has an impossible value; the message is a sentence."""


TEST_SECONDS: Final = 300.0
"""Seconds after which a test counts as hung, if the user says nothing else."""


EMULATOR: Final = "emulator"
DEVICES: Final = ("auto", "cpu", "gpu", EMULATOR)
"""What ported tests can run on: a GPU if there is one, the CPU device, an AMD GPU, AMD's emulator
of one."""

EMULATED: Final = "gfx1100"
"""The GPU that is emulated if the user names none."""

WAVES: Final = (32, 64)
"""How many lanes a wavefront has on AMD's architectures."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of equal shares of a list of work, for machines that work side by side."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def part(self, work: Sequence[T]) -> tuple[T, ...]:
        """Return this share: each n-th item, so that neighbours, which are alike, are spread.

        The shares of one list are disjoint, hold all of it, and differ in length by one at most.
        """
        return tuple(work[self.index - 1 :: self.count])


def parse_shard(text: str) -> Shard:
    """Parse a shard such as ``2/3``; an empty text is the whole."""
    if not text:
        return Shard()
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InvalidOptionError(f"{text!r} is no shard: write I/N with I from 1 to N, such as 2/3")
    return Shard(int(match[1]), int(match[2]))


def parse_waves(texts: Sequence[str]) -> tuple[int, ...]:
    """Parse wavefront sizes and sort them; the default is 32 lanes."""
    for text in texts:
        if text not in map(str, WAVES):
            raise InvalidOptionError(f"{text!r} is no wavefront of AMD's: it has 32 or 64 lanes")
    return tuple(sorted(set(map(int, texts)))) or WAVES[:1]


def parse_archs(texts: Sequence[str]) -> tuple[str, ...]:
    """Parse names of architectures."""
    for text in texts:
        if not re.fullmatch(ARCH, text):
            raise InvalidOptionError(f"{text!r} is no architecture: write one such as gfx1100")
    return tuple(texts)


@dataclass(frozen=True)
class Options:
    """The options of a verification.

    Attributes:
        only: the names of the steps that are wanted; none for all.
        until: the name of the last step; empty for the ladder's last.
        keep_going: whether to go on after a step that failed.
        no_skip: whether what is left out counts as a failure.
        revision: the commit to compare with; empty for the one on which apply was run.
        gating: ``dummy`` or ``cfg``; empty for what the tree's own settings say.
        shard: the share of the kernel matrix and of the test lists.
        cached: whether what an earlier run has found may be used.
        test_seconds: after how long a test counts as hung.
        archs: the architectures that kernels are compiled for; none for one of each kind.
        report: the file that the report goes to, which is no part of the tree; none by default.
        packages: the crates that are type-checked, linted and tested; none for all, and for the
            tests of those that the codebase's profile names.
        device: what the ported tests run on, one of ``DEVICES``.
        emulator: the program of AMD's emulator; empty for the one that the machine names.
        rocm: the folder of the ROCm that the emulator runs; empty for the one that is found.
        waves: the lanes of the wavefronts that the CPU device is tried with, of ``WAVES``.
        checked: whether the CPU device watches every access of memory.
        chaos: the seed of what the CPU device does where HIP leaves it open; 0 for none.
        profile: the codebase's directory; none for the one that the tree's own settings name.
        asked: how the tree is to be looked at, in options as they are typed, a space before each.
        sandbox: whether what the tree brings is run in a sandbox.
        unfinished: whether places may still be to do, as before the last commit of a series.
    """

    only: tuple[str, ...] = ()
    until: str = ""
    keep_going: bool = False
    no_skip: bool = False
    revision: str = ""
    gating: str = ""
    shard: Shard = Shard()
    cached: bool = True
    test_seconds: float = TEST_SECONDS
    archs: tuple[str, ...] = ()
    report: Path | None = None
    packages: tuple[str, ...] = ()
    device: str = "auto"
    gpu: str = EMULATED
    emulator: str = ""
    rocm: str = ""
    waves: tuple[int, ...] = (32,)
    checked: bool = False
    chaos: int = 0
    profile: Directory | None = None
    asked: str = ""
    sandbox: bool = False
    unfinished: bool = False
