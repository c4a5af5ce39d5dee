"""What holds for every published version of candle from 0.9.0 on, those of tomorrow included.

`ci/versions` asks the same of them and of commits, and keeps what they answer in reports/versions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from port_of_candle import TYPES
from turns import turn

from portkit.codebases.registry import find_codebase
from portkit.profiles.tested_versions import load_tested_versions
from tools.proof.versions.asked import GATINGS, load_crates, port, typed
from tools.proof.versions.trees import versions

pytestmark = [pytest.mark.real, pytest.mark.xdist_group(TYPES)]

PUBLISHED = (
    *("0.9.0", "0.9.1", "0.9.2-alpha.1", "0.9.2-alpha.2", "0.9.2"),
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "0.11.1"),
)
"""The floor: these are asked also where the registry's index cannot be."""

CRATES = load_crates(find_codebase("candle"))
FEATURES = ((), ("rocm",))
CASES = tuple(product(PUBLISHED, GATINGS, FEATURES))
A_TURN = 1

Port = Callable[[str, str], Path]
Kept = Callable[[Path], Path]


@pytest.fixture(scope="session")
def port_of(pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Port:
    """Give a port of a version in a gating; whatever does not hold of it fails the test."""
    folder = tmp_path_factory.mktemp("ports")

    def get(version: str, gating: str) -> Path:
        place = folder / f"{version}-{gating}"
        if not place.exists():
            assert port(pristine(version), place, gating) == ()
        return place

    return get


def type_errors(tree: Path, features: tuple[str, ...]) -> tuple[str, ...]:
    found = typed(tree, features, Path(os.environ["CARGO_TARGET_DIR"]), CRATES)
    if found.libraries:
        # candle-examples of some versions downloads a file while it is built.
        lacking = ", ".join(found.libraries)
        pytest.skip(f"upstream's build script is linked with {lacking}: install what has them")
    return found.errors


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("version", PUBLISHED)
def test_it_is_ported(port_of: Port, version: str, gating: str) -> None:
    port_of(version, gating)


def test_what_was_published_since_is_ported(port_of: Port) -> None:
    for version, gating in product(since(), GATINGS):
        port_of(version, gating)


def test_every_case_has_its_turn() -> None:
    days = len(CASES) // A_TURN
    assert sorted(case for day in range(days) for case in turn(CASES, A_TURN, day)) == sorted(CASES)


def test_those_whose_turn_it_is_type_check(
    port_of: Port, kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    for version, gating, features in turn(CASES, A_TURN):
        with capsys.disabled():
            print(f"\ntype-checks today: {version} {gating} {' '.join(features)}", flush=True)
        assert type_errors(kept(port_of(version, gating)), features) == ()


@pytest.mark.slow
@pytest.mark.parametrize("features", FEATURES, ids=["no feature", "rocm"])
@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("version", PUBLISHED)
def test_it_type_checks(
    port_of: Port, version: str, gating: str, features: tuple[str, ...]
) -> None:
    assert type_errors(port_of(version, gating), features) == ()


@pytest.mark.slow
def test_what_was_published_since_type_checks(port_of: Port) -> None:
    for version, gating, features in product(since(), GATINGS, FEATURES):
        assert type_errors(port_of(version, gating), features) == ()


def test_what_is_proven_is_published() -> None:
    proven = load_tested_versions(find_codebase("candle"))
    assert proven is not None
    assert set(proven.versions) <= {*PUBLISHED, *since()}


def since() -> list[str]:
    """The versions that the registry has and the floor has not."""
    found = versions("candle-core", PUBLISHED[0])
    assert set(PUBLISHED) <= set(found)
    return [version for version in found if version not in PUBLISHED]
