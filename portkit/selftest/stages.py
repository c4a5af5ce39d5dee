"""The stages of a trial: each a command that can be ended, with a time limit."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from portkit.codebases.registry import find_shipped
from portkit.profiles.tested_versions import load_tested_versions
from portkit.verify.options import EMULATOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MINUTE: Final = 60.0
LIMITS: Final = {
    "doctor": MINUTE,
    "fetch": 10 * MINUTE,
    "apply": 5 * MINUTE,
    "coverage": 5 * MINUTE,
    "parity": 5 * MINUTE,
    "names": 5 * MINUTE,
    "build": 60 * MINUTE,
    "tests": 60 * MINUTE,
    "crosscheck": 60 * MINUTE,
    "throughput": 60 * MINUTE,
}
"""Seconds that a stage may take, in the order of the stages."""
LADDER: Final = {
    "coverage": "coverage",
    "parity": "parity",
    "names": "names",
    "build": "build",
    "tests": "device",
    "crosscheck": "crosscheck",
    "throughput": "throughput",
}
"""The stages that ``portkit.selftest.__main__`` takes, and the step of each."""

_UNTIMED: Final = "times on the emulator say nothing about a GPU"
_NEEDED: Final = frozenset({"fetch", "apply", "build"})
"""Without these nothing can come after them."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage."""

    name: str  # one word
    shows: str  # what it shows, in one line
    command: tuple[str, ...]  # the program and its arguments; none where it is left out
    limit: float  # seconds after which it is ended
    # the file that it writes about itself; none where its output is all
    document: Path | None = None
    needed: bool = False  # whether the run ends where it fails
    left_out: str = ""  # why it is left out; empty where it is not


@dataclass(frozen=True)
class SelftestOptions:
    """What the user asks for."""

    folder: Path  # where all is done that needs a place
    given: bool = False  # whether the tree is there already, so that nothing is fetched
    spec: str = ""  # what is fetched else, such as ``tool@1.2.3``
    device: str = "gpu"  # ``gpu``, ``cpu`` or ``emulator``
    # what the user says of the emulator, as options of ``portkit.selftest``
    emulator: tuple[str, ...] = ()
    # the crates whose tests are run; none for those of the codebase's profile
    packages: tuple[str, ...] = ()
    profile: str = ""  # the name or directory of the codebase; empty for the one that is found
    only: tuple[str, ...] = ()  # the stages that are wanted; none for all
    # seconds by stage, in place of ``LIMITS``
    limits: Mapping[str, float] = field(default_factory=dict)
    test_seconds: float = 120.0  # after how long a test counts as hung
    offline: bool = False  # whether nothing is fetched over the network
    keep_going: bool = False  # whether to go on after a doctor who finds problems

    @property
    def tree(self) -> Path:
        """The tree that is worked on: a copy of the given one, or what is fetched."""
        return self.folder / "tree"


def find_newest_spec() -> str:
    """Return what is fetched where nothing is named: the last version that a port is proven on.

    It is that of the first codebase that portkit brings.
    """
    for name, directory in find_shipped().items():
        if proven := load_tested_versions(directory):
            return f"{name}@{proven.versions[-1]}"
    return ""


def plan_stages(wanted: SelftestOptions) -> tuple[Stage, ...]:
    """Return the stages of a trial, in their order."""
    return tuple(
        _make_stage(name, wanted) for name in LIMITS if not wanted.only or name in wanted.only
    )


def _make_stage(name: str, wanted: SelftestOptions) -> Stage:
    limit = wanted.limits.get(name, LIMITS[name])
    portkit = (sys.executable, "-m", "portkit")
    tree = str(wanted.tree)
    profile = ("--profile", wanted.profile) if wanted.profile else ()
    if name == "doctor":
        # The CPU device needs nothing of what it finds, and the emulator no GPU.
        ends = wanted.device == "gpu" and not wanted.keep_going
        shows = "nothing is missing on this machine"
        return Stage(name, shows, (*portkit, "doctor", "--json"), limit, needed=ends)
    if name == "fetch":
        offline = ("--offline",) if wanted.offline else ()
        command = (*portkit, "fetch", wanted.spec, tree, *offline)
        why = "a tree was given" if wanted.given else ""
        return Stage(name, f"{wanted.spec} can be had", command, limit, needed=True, left_out=why)
    if name == "apply":
        # The tree is a copy of our own, whatever its state.
        dirty = ("--allow-dirty", "--allow-staged", "--allow-no-vcs")
        command = (*portkit, "apply", "--no-verify", tree, *profile, *dirty)
        return Stage(name, "the port can be written", command, limit, needed=True)
    document = wanted.folder / f"{name}.json"
    packages = tuple(word for crate in wanted.packages for word in ("--package", crate))
    command = (
        *(sys.executable, "-m", "portkit.selftest", tree, "--step", LADDER[name]),
        *("--device", wanted.device, *wanted.emulator),
        *("--test-timeout", f"{wanted.test_seconds:g}"),
        *("--document", str(document), *packages, *profile),
    )
    why = _UNTIMED if name == "throughput" and wanted.device == EMULATOR else ""
    return Stage(name, _SHOWS[name], command, limit, document, name in _NEEDED, why)


_SHOWS: Final = {
    "coverage": "every mention of a backend is accounted for",
    "parity": "ROCm has what CUDA has",
    "names": "each kernel that is asked for by name is there",
    "build": "the tests can be built for the device",
    "tests": "the ported tests pass on the device",
    "crosscheck": "every operation gives what arithmetic of our own gives",
    "throughput": "operations can be measured",
}
