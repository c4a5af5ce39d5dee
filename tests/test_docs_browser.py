"""The documentation site in a browser: accessible, without a complaint, as narrow as a telephone.

It needs mkdocs, Chromium and what ``ci/browser-tools`` installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from browser_support import TOOLS, Browser, find_browser, violations

ROOT = Path(__file__).parents[1]
PROGRAM = find_browser()
MKDOCS = shutil.which("mkdocs", path=f"{ROOT / 'build/docs/bin'}:{os.environ['PATH']}")
PICTURES = ROOT / "build" / "screenshots"
# One of each kind of page: text, a picture, wide tables, a generated rule, generated names.
PAGES = (
    "index",
    "guide-port",
    "design",
    "limits",
    "verify",
    "rules/index",
    "rules/PK301-match-arm",
)


@pytest.mark.real
@pytest.mark.skipif(
    PROGRAM is None or MKDOCS is None or not (TOOLS / "axe-core").is_dir(),
    reason="no Chromium, no mkdocs (`make docs`) or no axe-core (ci/browser-tools)",
)
def test_the_pages_are_accessible_and_fit_a_telephone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        [str(MKDOCS), "build", "--strict", "--quiet", "--site-dir", str(site)], cwd=ROOT, check=True
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    with Browser(str(PROGRAM), tmp_path / "profile") as browser:
        for name in PAGES:
            page = site / f"{name}.html"
            browser.resize(360, 800)
            browser.open(page)
            assert browser.complaints() == [], name
            assert browser.run("document.documentElement.scrollWidth") <= 360, name
            browser.resize(1400, 900)
            for scheme in ("light", "dark"):
                browser.prefer(scheme)
                browser.open(page)
                browser.screenshot(
                    PICTURES
                    / f"docs-{'-'.join(page.relative_to(site).with_suffix('').parts)}-{scheme}.png"
                )
                assert violations(browser) == [], (name, scheme)
