"""The container of a trial and the script that is run in it or without it.

No container is built here: that takes an engine, 30 GB and the network. What is checked is the
text, by hadolint and shellcheck, and what the script does where something is missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portkit.doctor.driver import DEVICES
from portkit.doctor.libraries import TRIED

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "ci" / "trial"
CONTAINERFILE = FOLDER / "Containerfile"
SCRIPT = FOLDER / "run"


def checked(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name(program)
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)


def test_hadolint_objects_to_nothing(tmp_path: Path) -> None:
    done = checked("hadolint", "--no-color", CONTAINERFILE)
    assert done.returncode == 0, done.stdout
    worse = tmp_path / "Containerfile"
    worse.write_text(CONTAINERFILE.read_text().replace("# hadolint ignore=DL3008\n", ""))
    assert "DL3008" in checked("hadolint", "--no-color", worse).stdout


def test_shellcheck_objects_to_nothing(tmp_path: Path) -> None:
    done = checked("shellcheck", "--shell", "sh", SCRIPT)
    assert done.returncode == 0, done.stdout
    worse = tmp_path / "run"
    worse.write_text(SCRIPT.read_text().replace('"$python" "$here', "$python $here"))
    assert checked("shellcheck", "--shell", "sh", worse).returncode == 1


def test_the_releases_are_those_that_were_tried() -> None:
    text = CONTAINERFILE.read_text()
    listed = re.findall(r"\b\d\.\d\b", text.partition("tags are")[2].partition("ARG")[0])
    first, last = (".".join(map(str, release)) for release in TRIED)
    assert (listed[0], listed[-1]) == (first, last)
    assert f"ARG ROCM={last}\nFROM docker.io/rocm/dev-ubuntu-24.04:${{ROCM}}-complete\n" in text
    assert DEVICES in text


def test_what_a_container_does_without_is_not_what_it_needs() -> None:
    left_out = (ROOT / ".dockerignore").read_text().split("\n")[1:]
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for path in filter(None, tracked.split("\0")):
        assert path.partition("/")[0] not in left_out, path


def linked(folder: Path, *names: str) -> str:
    """Return a PATH with some of this machine's programs alone."""
    folder.mkdir(exist_ok=True)
    for name in names:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return str(folder)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ((), " Python-3.11 Rust git g++"),
        (("git",), " Python-3.11 Rust g++"),
    ],
)
def test_what_is_missing_is_one_sentence(tmp_path: Path, there: tuple[str, ...], said: str) -> None:
    path = linked(tmp_path / "bin", "dirname", *there)
    done = subprocess.run(
        ["/bin/sh", SCRIPT], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (19, "")
    assert done.stderr == (
        f"trial: this machine lacks{said}: install what is missing and run it again\n"
    )


def test_the_arguments_reach_the_trial(tmp_path: Path) -> None:
    """In a copy of the script's surroundings, whose environment is made already."""
    made = tmp_path / "build" / "trial" / "bin"
    made.mkdir(parents=True)
    (made / "portkit").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (made / "portkit").chmod(0o755)
    (tmp_path / "ci" / "trial").mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "ci" / "trial" / "run")
    (tmp_path / "bin").mkdir()
    for name in ("cargo", "git", "c++"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    done = subprocess.run(
        [tmp_path / "ci/trial/run", "--device", "cpu", "a b"],
        env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "trial|--device|cpu|a b|"
