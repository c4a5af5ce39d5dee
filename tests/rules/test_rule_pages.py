"""The pages of `docs/rules`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portkit.engine.rule_pages import RulePage, list_pages
from portkit.rules import SiteRule, list_rules
from tools.pages import rules as docs

ROOT = Path(__file__).parents[2]


def test_pages_are_those_that_would_be_made_now() -> None:
    """Run `python -m tools.pages.rules` where this fails."""
    stored = {p.name: p.read_text() for p in (ROOT / docs.DOCS).glob("*.md")}
    assert stored == docs.made(ROOT)


def test_every_code_has_a_page() -> None:
    sources = [p.read_text() for p in (ROOT / "portkit").rglob("*.py")]
    named = {code for text in sources for code in re.findall(r'"(PK\d{3})"', text)}
    assert named == {page.code for page in list_pages()}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.code)
def test_a_page_begins_with_one_sentence_and_gives_reasons(page: RulePage) -> None:
    assert page.title.endswith((".", ":"))
    assert len(page.title) < 120
    assert page.text


AT_SITES = [rule for rule in list_rules() if isinstance(rule, SiteRule)]


@pytest.mark.parametrize("rule", AT_SITES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_leaves_out(rule: SiteRule) -> None:
    text = " ".join(next(p.text for p in list_pages() if p.code == rule.code).split())
    assert "Not handled: " in text or "Nothing is written here." in text


def test_pages_of_codes_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    stale = tmp_path / docs.DOCS / "PK999-gone.md"
    stale.parent.mkdir(parents=True)
    stale.write_text("gone")
    assert docs.main([str(tmp_path)]) == 0
    assert not stale.exists()
    assert (stale.parent / "index.md").exists()
