"""The real candle, rebuilt from its crates, and ports of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from port_of_candle import PRODUCTS, scan_tree

from portkit.cache import cache_folder
from portkit.codebases.registry import find_codebase
from portkit.engine.plan import build_plan
from portkit.fetch import fetch
from portkit.profiles.profile import load_codebase
from portkit.transaction.transaction import write_plan
from portkit.verify.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from portkit.engine.scan import Scan


@pytest.fixture(scope="module", autouse=True)
def _products(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have cargo build in a folder of the group, with one set of options: it builds once."""
    group = request.node.get_closest_marker("xdist_group")
    name = group.args[0] if group else PRODUCTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARGO_TARGET_DIR", str(cache_folder() / "target" / f"tests-{name}"))
        patch.setenv("CARGO_INCREMENTAL", "0")
        for name, value in load_settings(
            load_codebase(find_codebase("candle"))
        ).environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Give the folder of a pristine candle of a version; not to be written to."""
    folder = tmp_path_factory.mktemp("candle")

    def get(version: str) -> Path:
        place = folder / version
        if not place.exists():
            fetch(f"candle@{version}", place)
        return place

    yield get
    written = {
        place.name: git(place, "status", "--short", "--ignored") for place in folder.iterdir()
    }
    assert not any(written.values()), written


@pytest.fixture(scope="session")
def built(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Give the folder of a pristine candle that cargo is run in: it writes a Cargo.lock there."""
    folder = tmp_path_factory.mktemp("built")

    def get(version: str) -> Path:
        place = folder / version
        if not place.exists():
            shutil.copytree(pristine(version), place)
        return place

    return get


@pytest.fixture(scope="session")
def scanned(pristine: Callable[[str], Path]) -> Callable[[str, str], Scan]:
    """Give the scan of a pristine candle, by version and gating."""
    known: dict[tuple[str, str], Scan] = {}

    def get(version: str, gating: str = "dummy") -> Scan:
        if (version, gating) not in known:
            known[version, gating] = scan_tree(pristine(version), gating)
        return known[version, gating]

    return get


@pytest.fixture(scope="session")
def ported(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str, str], Path]:
    """Give the folder of a ported candle; not to be written to.

    It is asked for by version, gating and the form of its kernels.
    """
    folder = tmp_path_factory.mktemp("ported")

    def get(version: str, gating: str = "dummy", kernels: str = "shared") -> Path:
        place = folder / f"{version}-{gating}-{kernels}"
        if not place.exists():
            shutil.copytree(pristine(version), place)
            write_plan(place, build_plan(scan_tree(place, gating, kernels)).changes)
        return place

    return get
