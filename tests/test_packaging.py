"""The lock files hold what pyproject.toml asks for, and a wheel all that portkit needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

from portkit.device.stubs import HOME as DEVICE
from portkit.device.toolkit import compute_toolkit_key
from portkit.numerics.program_crate import CRATE as CROSSCHECK
from portkit.port.hip_bindings import HOME as HIP
from portkit.shipped import shipped

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
USERS = {"lsp": "dev"}
"""Extras for users, who lock what they install, and the lock with which they are tried here."""
LOCKS = {
    extra: (ROOT / f"requirements-{extra}.txt").read_text()
    for extra in EXTRAS
    if extra not in USERS
}


def locked(extra: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", LOCKS[extra], re.MULTILINE))


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        (USERS.get(extra, extra), wanted)
        for extra, own in EXTRAS.items()
        for wanted in (
            *PROJECT["project"]["dependencies"],
            *own,
            *PROJECT["build-system"]["requires"],
        )
    ],
)
def test_the_lock_holds_a_version_that_fits(extra: str, wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(locked(extra)[requirement.name])


@pytest.mark.parametrize("extra", LOCKS)
def test_every_pinned_package_has_hashes(extra: str) -> None:
    for name in locked(extra):
        match = re.search(rf"^{re.escape(name)}==", LOCKS[extra], re.MULTILINE)
        assert match is not None
        entry = LOCKS[extra][match.start() :]
        assert re.match(r"\S+ \\\n    --hash=sha256:[0-9a-f]{64}", entry), name


@pytest.mark.parametrize("extra", LOCKS)
def test_the_lock_names_no_server_and_no_folder(extra: str) -> None:
    lines = [line for line in LOCKS[extra].splitlines() if not line.startswith("#")]
    assert all(re.match(r"[a-z0-9._-]+==\S+ \\$|    --hash=sha256:", line) for line in lines)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel holds, far from this repository."""
    made, place = (tmp_path_factory.mktemp(name) for name in ("dist", "site-packages"))
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(made), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def said(installed: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed)!r})\n{code}"],
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("home", [HIP, CROSSCHECK, DEVICE, "docs/upstream"])
def test_a_wheel_brings_what_is_not_python(installed: Path, home: str) -> None:
    where = said(installed, f"import portkit.shipped as s; print(s.shipped({home!r}))")
    assert Path(where) == installed / "portkit" / "shipped" / home
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", home]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {str(Path(line).relative_to(home)) for line in done.stdout.splitlines()}
    brought = {p.relative_to(where).as_posix() for p in Path(where).rglob("*") if p.is_file()}
    left_out = {path for path in tracked - brought if not path.startswith("tests/")}
    assert brought <= tracked
    assert left_out <= {"README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"}


def test_the_device_of_a_wheel_is_the_one_of_the_repository(installed: Path) -> None:
    code = "from portkit.device.toolkit import compute_toolkit_key; print(compute_toolkit_key())"
    assert said(installed, code) == compute_toolkit_key()


def test_an_editable_install_finds_the_repository_s() -> None:
    assert shipped(HIP) == ROOT / HIP
