"""The bugs of candle's CUDA side that its copy does not carry on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE
from port_of_candle import VERSIONS

from portkit.profile.profile import load_codebase

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def found(scanned: Callable[[str], Scan]) -> dict[str, tuple[Finding, ...]]:
    return {
        version: tuple(f for f in scanned(version).findings if f.code == "PK107")
        for version in VERSIONS
    }


def test_each_is_found_or_known_to_be_mended(found: dict[str, tuple[Finding, ...]]) -> None:
    lost = [
        (version, finding.symbol)
        for version, findings in found.items()
        for finding in findings
        if not finding.message.endswith("the original is untouched")
    ]
    assert lost == []


def test_none_is_there_for_nothing(found: dict[str, tuple[Finding, ...]]) -> None:
    reasons = {f.message.split(";")[0] for findings in found.values() for f in findings}
    for repair in load_codebase(CANDLE).repairs:
        assert repair.reason.split(";")[0] in reasons, repair.symbol
