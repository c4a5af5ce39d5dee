"""The lock file holds what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements-dev.txt").read_text()
LOCKED = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", LOCK, re.MULTILINE))


@pytest.mark.parametrize(
    "wanted",
    [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    ],
)
def test_the_lock_holds_a_version_that_fits(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(LOCKED[requirement.name])


def test_every_pinned_package_has_hashes() -> None:
    for name in LOCKED:
        entry = LOCK[re.search(rf"^{re.escape(name)}==", LOCK, re.MULTILINE).start() :]  # type: ignore[union-attr]
        assert re.match(r"\S+ \\\n    --hash=sha256:[0-9a-f]{64}", entry), name


def test_the_lock_names_no_server_and_no_folder() -> None:
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    assert all(re.match(r"[a-z0-9._-]+==\S+ \\$|    --hash=sha256:", line) for line in lines)
