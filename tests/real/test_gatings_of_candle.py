"""The two gatings write the same port of the real candle: see `gating_support`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gating_support import differing

from portkit.engine.plan import build_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.engine.scan import Scan

pytestmark = pytest.mark.real


def test_the_ports_of_candle_differ_in_attributes_alone(
    scanned: Callable[[str, str], Scan],
) -> None:
    ports = []
    for gating in ("dummy", "cfg"):
        changes = build_plan(scanned("0.11.1", gating), rustfmt=False).changes
        ports.append({change.path: change.after for change in changes})
    assert differing(*ports) == []
