"""Defects in what the cross-check does not know, and whether the programs that run it find them.

The programs are tests in Rust, of the functions for attention and of the fused experts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import build_toolkit
from portkit.errors import VerificationError
from portkit.verify.device_choice import ARCH_OF_WAVE, list_build_variables
from tools.proof.mutation import SWITCH, MutantsFile, seeded
from tools.proof.mutation_run import Found, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from portkit.codebases.directory import Directory
    from portkit.verify.settings import Settings
    from tools.proof.mutation import Mutant

FILE: Final = "operations.toml"
"""The defects of a codebase, in its directory."""

RUNS: Final[Mapping[str, int]] = {f"wave {wave}": wave for wave in ARCH_OF_WAVE}
"""The wavefronts of each run of the programs."""

MANIFEST: Final = "Cargo.toml.in"
"""The crate's manifest, beside the programs; ``{tree}`` in it stands for the port."""

_SECONDS: Final = 300.0
"""A run takes half a minute; what takes this long hangs."""


def load_mutants(directory: Directory) -> tuple[Mutant, ...]:
    """Return the defects of a codebase, in the order of the file.

    Raises:
        ProfileError: it is malformed, or not there.
    """
    return directory.typed(FILE, MutantsFile).mutant


def write_crate(folder: Path, tree: Path, programs: Path) -> None:
    """Write a crate whose tests are the programs, for a ported tree.

    Args:
        folder: of the crate; made if it is not there.
        tree: the port.
        programs: a folder with tests in Rust, and ``Cargo.toml.in``.
    """
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").touch()
    manifest = (programs / MANIFEST).read_text(encoding="utf-8")
    (folder / "Cargo.toml").write_text(manifest.replace("{tree}", str(tree.resolve())), "utf-8")
    kept = shutil.ignore_patterns(MANIFEST)
    shutil.copytree(programs, folder / "tests", ignore=kept, dirs_exist_ok=True)


def take_programs(
    root: Path,
    programs: Path,
    folder: Path,
    mutants: Iterable[Mutant],
    results: Path,
    settings: Settings,
) -> list[Found]:
    """Run the programs over each defect, until one of their tests fails, and keep what they say.

    All defects are in one build. What a file of results already holds is not looked at again.

    Args:
        root: a copy of a port; it is written to.
        programs: a folder with tests in Rust.
        folder: for the crate and what is built of it; made if it is not there.
        mutants: the defects.
        results: lines of JSON; made if it is not there.
        settings: of the codebase: what its build scripts are told.

    Raises:
        VerificationError: a mutant does not fit the tree, it does not build with one, or the
            programs fail where none is turned on.
        ToolError: the CPU device cannot be built.
    """
    crate = folder / "crate"
    write_crate(crate, root, programs)
    work = _Work(crate, folder / "target", results, settings)
    every = tuple(mutants)
    with seeded(root, *every, switched=True):
        for run in RUNS:
            wanted = [mutant for mutant in every if work.wants(mutant, run)]
            if wanted and (fault := work.failure(run, {})[0]):
                raise VerificationError(f"{run}: they fail where no defect is: {fault}")
            for mutant in wanted:
                work.take(mutant, run, {SWITCH: mutant.name})
    return work.found


class _Work:
    """What is done, and how more of it is."""

    def __init__(self, crate: Path, target: Path, results: Path, settings: Settings) -> None:
        self.found = known(results)
        self._crate = crate
        self._results = results
        self._environment = {
            **os.environ,
            **list_build_variables(settings, ARCH_OF_WAVE.values()),
            "CARGO_TARGET_DIR": str(target),
        }

    def wants(self, mutant: Mutant, run: str) -> bool:
        """Whether a run over a mutant is still to be made."""
        mine = [each for each in self.found if each.mutant == mutant.name]
        return not any(each.caught or each.step == run for each in mine)

    def take(self, mutant: Mutant, run: str, settings: Mapping[str, str]) -> None:
        """Make a run over a mutant that settings turn on, and keep what it says."""
        said, seconds = self.failure(run, settings)
        day = datetime.now(UTC).date().isoformat()
        self.found.append(Found(mutant.name, run, bool(said), said, seconds, day))
        with self._results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self.found[-1])) + "\n")

    def failure(self, run: str, settings: Mapping[str, str]) -> tuple[str, float]:
        """Return the first test that fails, or an empty string, and the seconds that it took.

        Raises:
            VerificationError: the crate does not build.
        """
        arch = ARCH_OF_WAVE[RUNS[run]]
        environment = build_toolkit().environment(arch=arch, base=self._environment)
        begun = time.monotonic()
        try:
            done = subprocess.run(
                ("cargo", "test", "--quiet", "--no-fail-fast"),
                cwd=self._crate,
                env=environment | dict(settings),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {_SECONDS:.0f} s", _SECONDS
        seconds = round(time.monotonic() - begun, 1)
        if done.returncode == 0:
            return "", seconds
        if "could not compile" in done.stderr or "failed to run custom build" in done.stderr:
            raise VerificationError(f"the programs do not build: {done.stderr[-2000:]}")
        return _said(done.stdout) or _ended(done.stderr), seconds


def _ended(printed: str) -> str:
    """Return how the process of a program ended that has told nothing, as cargo says it."""
    signal = re.search(r"\((signal: [^)]*)\)", printed)
    program = re.search(r"`--test (\w+)`", printed)
    if signal and program:
        return f"{program[1]}: {signal[1]}"
    return printed.strip().splitlines()[-1]


def _said(printed: str) -> str:
    """Return the first test that failed, and what it said."""
    failed = re.search(r"^---- (\w+) stdout ----\n+(.*)", printed, re.MULTILINE)
    if failed is None:
        return ""
    panic = re.search(r"panicked at \S+\n(.*)", printed[failed.start() :])
    return f"{failed[1]}: {panic[1] if panic else failed[2]}"
