"""A ``cfg`` may stand wherever the grammar allows one, and the port is still Rust."""

from __future__ import annotations

import shutil

import pytest
from positions import CONDITIONS, positions, spread
from properties import Port, faults, no_rust

PATH = "candle-core/src/lib.rs"


def texts(condition: str) -> list[str]:
    """Return each text under a condition, on one line and on several."""
    layouts = (layout for text in positions() for layout in (text, spread(text)))
    return [text.replace("@", f"{condition} ") for text in dict.fromkeys(layouts)]


def test_there_are_many() -> None:
    assert len(set(positions())) > 200


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is missing")
@pytest.mark.parametrize("gating", ["dummy", "cfg"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_at_every_position(condition: str, gating: str) -> None:
    port, before = Port.of_candle(gating), [text.encode() for text in texts(condition)]
    assert no_rust(before) == frozenset()
    found = [faults(port, PATH, text) for text in before]
    assert [(t, f) for t, (each, _) in zip(before, found, strict=True) for f in each] == []
    after = [text for _, text in found]
    assert [after[i].decode() for i in sorted(no_rust(after))] == []
