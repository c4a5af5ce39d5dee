"""The crate of HIP bindings by itself: its own tests on the CPU device, lints, the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from facade_support import cargo

from portkit.copying.bindings import HOME
from portkit.shipped import shipped

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo"),
]

CLIPPY = ["undocumented_unsafe_blocks", "missing_safety_doc"]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("target")


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, into which cargo may write its lock file."""
    place = tmp_path_factory.mktemp("crate") / "hip"
    ignored = shutil.ignore_patterns("target", "Cargo.lock")
    return Path(shutil.copytree(shipped(HOME), place, ignore=ignored))


@pytest.mark.parametrize(
    "command",
    [
        ["fmt", "--check"],
        ["clippy", "--all-targets", "--all-features", "--", "-D", "warnings"]
        + [word for lint in CLIPPY for word in ("-D", f"clippy::{lint}")],
        ["package", "--allow-dirty"],
    ],
    ids=lambda command: command[0],
)
def test_it_is_fit_to_be_published(crate: Path, target: Path, command: list[str]) -> None:
    done = cargo(crate, target, *command)
    assert done.returncode == 0, done.stdout


def test_its_tests_pass_on_the_cpu_device(crate: Path, target: Path) -> None:
    command = [*("cargo", "test", "--all-features", "--target-dir", str(target))]
    portkit = Path(sys.executable).with_name("portkit")
    done = subprocess.run(
        [portkit, "device", "--", *command, "--", "--include-ignored"],
        cwd=crate,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "running 13 tests" in done.stdout
    assert "0 ignored" in done.stdout
