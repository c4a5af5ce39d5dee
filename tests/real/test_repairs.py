"""The bugs of candle's CUDA side that its copy does not carry on, and entries that do nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from port_of_candle import VERSIONS

from portkit.profiles.settings import Settings
from portkit.rules.idle_entry import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.engine.scan import Scan

pytestmark = pytest.mark.real


@pytest.mark.parametrize("version", VERSIONS)
def test_each_is_found_as_often_as_the_profile_says(
    scanned: Callable[[str], Scan], version: str
) -> None:
    lost = [
        (f.code, f.symbol, f.message)
        for f in scanned(version).findings
        if "nothing of that is found" in f.message or "the profile says" in f.message
    ]
    assert lost == []


@pytest.mark.parametrize("version", VERSIONS)
def test_no_entry_does_nothing(scanned: Callable[[str], Scan], version: str) -> None:
    scan = scanned(version)
    idle = check(scan.job, scan.findings, Settings())
    assert [(f.symbol, f.message) for f in idle] == []


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_copies_say_is_about_amd(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    root = ported(version, gating)
    every = root.rglob("*.rs")
    copies = [path for path in every if re.search(r"rocm|candle-hip", str(path.relative_to(root)))]
    assert len(copies) > 30
    strange = re.compile(r"docs\.nvidia\.com|upstream\W+candle_hip")
    assert [path for path in copies if strange.search(path.read_text())] == []
