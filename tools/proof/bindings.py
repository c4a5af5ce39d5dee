"""Defects in the HIP bindings, and whether their own tests find them on the CPU device."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import build_toolkit
from portkit.errors import ProfileError, VerificationError
from portkit.port.hip_bindings import HOME
from portkit.shipped import shipped
from portkit.syntax.typed_toml import decode_toml
from tools.proof.mutation import SWITCH, MutantsFile, seeded
from tools.proof.mutation_run import Found, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.proof.mutation import Mutant

FILE: Final = Path(__file__).with_suffix(".toml")

RUNS: Final[Mapping[str, Mapping[str, str]]] = {
    "tests": {},
    "tests with HIP's pool": {"HIPRC_ALLOCATOR": "pool", "PORTKIT_DEVICE_PEERS": "no"},
    "a wait that fails": {"PORTKIT_DEVICE_FAIL": "hipStreamWaitEvent:2"},
}
"""What the environment says besides in each run of the tests."""

_DEVICE: Final = {"PORTKIT_DEVICE_COUNT": "2", "PORTKIT_DEVICE_STREAMS": "lazy"}
"""As late as HIP allows, work shows what does not wait for it."""

_ARCH: Final = "gfx1100"
_FAILURES: Final = "failures"
"""The file of tests that goes on where a call fails."""

OF_THE_ALLOCATOR: Final = (_FAILURES, "constants", "launchers", "memory")
"""Those that ask what the allocator has done, which the pool leaves without work."""

_SECONDS: Final = 300.0
"""A run takes half a minute; what takes this long hangs."""


def load_mutants() -> tuple[Mutant, ...]:
    """Return the defects, in the order of the file.

    Raises:
        ProfileError: it is malformed.
    """
    return decode_toml(FILE.read_bytes(), str(FILE), MutantsFile, ProfileError).mutant


def take_tests(folder: Path, mutants: Iterable[Mutant], results: Path) -> list[Found]:
    """Run the tests over each defect, until one fails, and keep what they say.

    All defects are in one build. What a file of results already holds is not looked at again.

    Args:
        folder: for a copy of the crate and what is built of it; made if it is not there.
        mutants: the defects.
        results: lines of JSON; made if it is not there.

    Raises:
        VerificationError: a mutant does not fit the crate, it does not build with them, or its
            tests fail where none is turned on.
        ToolError: the CPU device cannot be built.
    """
    every, found = tuple(mutants), known(results)
    folder = folder.resolve()  # cargo runs in the copy
    copy = folder / "crate"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(shipped(HOME), copy, ignore=shutil.ignore_patterns("target"))
    environment = build_toolkit().environment(arch=_ARCH) | _DEVICE
    environment["CARGO_TARGET_DIR"] = str(folder / "target")
    environment["RUSTFLAGS"] = "-A warnings"  # of the defects: an error is not to be among them
    with seeded(copy, *every, switched=True):
        for run, settings in RUNS.items():
            if fault := _failure(copy, run, environment | dict(settings))[0]:
                raise VerificationError(f"{run}: they fail where no defect is: {fault}")
            for mutant in every:
                mine = [each for each in found if each.mutant == mutant.name]
                if any(each.caught or each.step == run for each in mine):
                    continue
                turned_on = environment | dict(settings) | {SWITCH: mutant.name}
                said, seconds = _failure(copy, run, turned_on)
                today = datetime.now(UTC).date().isoformat()
                found.append(Found(mutant.name, run, bool(said), said, seconds, today))
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found[-1])) + "\n")
    return found


def _failure(crate: Path, run: str, environment: Mapping[str, str]) -> tuple[str, float]:
    """Return the first test that fails, or an empty string, and the seconds that it took.

    Raises:
        VerificationError: the crate does not build.
    """
    files = sorted(path.stem for path in (crate / "tests").glob("*.rs"))
    command = ["cargo", "test", "--quiet", "--all-features"]
    if "PORTKIT_DEVICE_FAIL" in RUNS[run]:
        command += ["--test", _FAILURES]
    else:
        left_out = OF_THE_ALLOCATOR if RUNS[run] else ()
        command += ["--lib", *(w for f in files if f not in left_out for w in ("--test", f))]
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "--", "--include-ignored"],
            cwd=crate,
            env=os.environ | dict(environment),
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
    if "could not compile" in done.stderr:
        raise VerificationError(f"the bindings with their defects do not build: {done.stderr}")
    failed = re.findall(r"^    ([\w:]+)$", done.stdout, re.MULTILINE)
    return (failed[0] if failed else done.stderr.strip().splitlines()[-1]), seconds
