"""The lock files hold what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = {extra: (ROOT / f"requirements-{extra}.txt").read_text() for extra in EXTRAS}


def locked(extra: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", LOCKS[extra], re.MULTILINE))


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        (extra, wanted)
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


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_pinned_package_has_hashes(extra: str) -> None:
    for name in locked(extra):
        match = re.search(rf"^{re.escape(name)}==", LOCKS[extra], re.MULTILINE)
        assert match is not None
        entry = LOCKS[extra][match.start() :]
        assert re.match(r"\S+ \\\n    --hash=sha256:[0-9a-f]{64}", entry), name


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_lock_names_no_server_and_no_folder(extra: str) -> None:
    lines = [line for line in LOCKS[extra].splitlines() if not line.startswith("#")]
    assert all(re.match(r"[a-z0-9._-]+==\S+ \\$|    --hash=sha256:", line) for line in lines)
