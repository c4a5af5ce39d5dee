"""The real candle, rebuilt from its crates, and ports of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from port_of_candle import scan_tree

from portkit.fetch import fetch
from portkit.scan.plan import plan
from portkit.write.transaction import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.scan.scan import Scan


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a pristine candle of a version; not to be written to."""
    folder = tmp_path_factory.mktemp("candle")

    def get(version: str) -> Path:
        place = folder / version
        if not place.exists():
            fetch(f"candle@{version}", place)
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
) -> Callable[[str, str], Path]:
    """Give the folder of a ported candle, by version and gating; not to be written to."""
    folder = tmp_path_factory.mktemp("ported")

    def get(version: str, gating: str = "dummy") -> Path:
        place = folder / f"{version}-{gating}"
        if not place.exists():
            shutil.copytree(pristine(version), place)
            write(place, plan(scan_tree(place, gating)).changes)
        return place

    return get
