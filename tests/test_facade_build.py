"""The emitted bindings crate builds anywhere, without warnings, and passes its own tests."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from facade_support import SHARED, cargo, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo"),
]

DENY = {"RUSTFLAGS": "-D warnings", "RUSTDOCFLAGS": "-D warnings"}
# Platforms on which the crate has to compile, though nothing of ROCm runs on some.
TARGETS = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"]


@pytest.fixture(scope="module", params=["shared", "own"])
def crate(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate in a workspace that shares all of its dependencies, or none."""
    shared = frozenset(SHARED) if request.param == "shared" else frozenset[str]()
    return write_workspace(tmp_path_factory.mktemp(request.param), shared)


@pytest.mark.parametrize(
    "command",
    [
        ["fmt", "--check"],
        ["clippy", "--all-targets", "--", "-D", "warnings"],
        ["doc", "--no-deps"],
        ["test"],
    ],
    ids=lambda command: command[0],
)
def test_on_this_machine(crate: Path, command: list[str]) -> None:
    done = cargo(crate, crate.parent / "target", *command, env=DENY)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_elsewhere(crate: Path, target: str) -> None:
    rustup = shutil.which("rustup")
    listed = [rustup, "target", "list", "--installed"] if rustup else ["echo"]
    if target not in subprocess.run(listed, capture_output=True, text=True, check=True).stdout:
        pytest.skip(f"no standard library for {target}: rustup target add {target}")
    done = cargo(crate, crate.parent / "target", "check", "--target", target, env=DENY)
    assert done.returncode == 0, done.stdout
