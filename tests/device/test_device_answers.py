"""Questions to a HIP runtime, which the CPU device and AMD's runtime on AMD's emulator answer."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from device_support import PROGRAMS, WAVES, build, run
from runtime_answers import DIFFERENT, RELEASE, SAME

from portkit.verify.emulator import FOLDER, VARIABLE, find_emulator
from portkit.verify.options import EMULATED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

SOURCE = PROGRAMS / "answers.hip"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that asks, compiled."""
    return build(SOURCE, tmp_path_factory.mktemp("answers") / "answers")


def test_the_cpu_device_answers_as_the_table_says(program: Path) -> None:
    expected = SAME | {name: each.cpu for name, each in DIFFERENT.items()}
    assert run(program).stdout.split() == sorted(expected)
    with ThreadPoolExecutor() as pool:
        found = dict(
            zip(expected, pool.map(lambda name: run(program, name), expected), strict=True)
        )
    assert {name: done.stdout.strip() for name, done in found.items()} == expected


def test_answers_about_captures_do_not_depend_on_when_work_is_done(program: Path) -> None:
    asked = [name for name in SAME if "capture" in name]
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda name: run(program, name, arch=WAVES[64], streams="lazy"), asked)
    answers = {name: done.stdout.strip() for name, done in zip(asked, found, strict=True)}
    assert answers == {name: SAME[name] for name in asked}


@pytest.mark.hipcc
@pytest.mark.skipif(
    not (os.environ.get(VARIABLE) or shutil.which("rocjitsu")),
    reason="AMD's emulator is not installed",
)
def test_amd_s_runtime_answers_as_the_table_says(tmp_path: Path) -> None:
    emulator = find_emulator(EMULATED)
    if not any(note.startswith(f"HIP {RELEASE} ") for note in emulator.notes):
        pytest.skip(f"the table has the answers of HIP {RELEASE}")
    hipcc = os.environ.get("HIPCC", "hipcc")
    compiled = tmp_path / "answers"
    arch = f"--offload-arch={EMULATED}"
    subprocess.run([hipcc, "-std=c++17", arch, SOURCE, "-o", compiled], check=True)

    def ask(name: str) -> str:
        done = subprocess.run(
            [*emulator.command, str(compiled), name],
            capture_output=True,
            text=True,
            env={**os.environ, FOLDER: str(tmp_path)},
            timeout=300,
            check=False,
        )
        # The emulator's warnings come first.
        return (done.stdout.splitlines() or [done.stderr])[-1]

    expected = SAME | {name: each.amd for name, each in DIFFERENT.items()}
    assert {name: ask(name) for name in expected} == expected
