"""The file of a trial in a browser: both themes, as narrow as a telephone, and accessible."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_support import TOOLS, Browser, find_browser, violations
from trial_support import trial

from portkit.selftest.page import render_page

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium (install one, or name it with PORTKIT_CHROMIUM)"
)
PICTURES = Path(__file__).parents[1] / "build" / "screenshots"


def test_the_page_is_read_on_any_screen(tmp_path: Path) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    place = tmp_path / "trial.html"
    found = trial()
    found["steps"][3]["evidence"].append("core::a::very_long_name_" * 20)
    place.write_text(render_page(found))
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path / "profile") as browser:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.open(place)
            browser.screenshot(PICTURES / f"trial-{scheme}.png", whole=True)
            assert browser.complaints() == []
            assert browser.requests() == [place.as_uri()]
            colour = browser.run("getComputedStyle(document.body).backgroundColor")
            assert (colour == "rgb(255, 255, 255)") == (scheme == "light")
            if (TOOLS / "axe-core").is_dir():
                assert violations(browser) == [], scheme
        steps = browser.run("[...document.querySelectorAll('.ladder b:first-child')].length")
        assert steps >= len(found["steps"])
        assert browser.run("document.querySelectorAll('#throughput tbody tr').length") == 2
        browser.resize(360, 800)
        browser.open(place)
        browser.screenshot(PICTURES / "trial-telephone.png", whole=True)
        cells = "[...document.querySelectorAll('#throughput tbody td')].map(c => c.offsetWidth)"
        assert all(width > 20 for width in browser.run(cells))
        assert browser.run("document.documentElement.scrollWidth") <= 360
