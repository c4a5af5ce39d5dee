"""The real candle, rebuilt from its crates, and ports of it."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from kept_trees import claim_products, keep
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

    from portkit.engine.scan import Scan


@pytest.fixture(scope="module")
def group(request: pytest.FixtureRequest) -> str:
    """Give the group whose tests run in one worker, or nothing."""
    marker = request.node.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else ""


@pytest.fixture(scope="module", autouse=True)
def _products(group: str) -> Iterator[None]:
    """Have cargo build in a folder of the group, with one set of options: it builds once."""
    name = group or PRODUCTS
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
def _kept() -> Iterator[Callable[[Path, str], Path]]:
    """Give the kept folder of a tree, by the tree and its group."""
    with ExitStack() as locks:
        yield cache(lambda tree, group: keep(tree, f"{group}-{tree.name}", locks))


@pytest.fixture(scope="module")
def kept(_kept: Callable[[Path, str], Path], group: str) -> Callable[[Path], Path]:
    """Give the folder in which cargo builds a tree: it stays if the tests are of a group."""

    def get(tree: Path) -> Path:
        place = _kept(tree, group)
        claim_products(place, Path(os.environ["CARGO_TARGET_DIR"]))
        return place

    return get if group else lambda tree: tree


@pytest.fixture(scope="session")
def _copied(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("built")

    def get(version: str) -> Path:
        place = folder / f"pristine-{version}"
        if not place.exists():
            shutil.copytree(pristine(version), place)
        return place

    return get


@pytest.fixture(scope="module")
def built(_copied: Callable[[str], Path], kept: Callable[[Path], Path]) -> Callable[[str], Path]:
    """Give the folder of a pristine candle that cargo is run in: it writes a Cargo.lock there."""
    return lambda version: kept(_copied(version))


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
def _ported(
    pristine: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str, str], Path]:
    folder = tmp_path_factory.mktemp("ported")

    def get(version: str, gating: str = "dummy", kernels: str = "shared") -> Path:
        place = folder / f"{version}-{gating}-{kernels}"
        if not place.exists():
            shutil.copytree(pristine(version), place)
            write_plan(place, build_plan(scan_tree(place, gating, kernels)).changes)
        return place

    return get


@pytest.fixture(scope="module")
def ported(
    _ported: Callable[[str, str, str], Path], kept: Callable[[Path], Path]
) -> Callable[[str, str, str], Path]:
    """Give the folder of a ported candle, which tests only read.

    They name the version, the gating and the form of the kernels.
    """

    def get(version: str, gating: str = "dummy", kernels: str = "shared") -> Path:
        return kept(_ported(version, gating, kernels))

    return get
