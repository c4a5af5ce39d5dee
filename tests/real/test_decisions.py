"""The decisions that the documentation shows are decisions about the real candle."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import invoke

from portkit.profiles.settings import NAME

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

PAGE = Path(__file__).parents[2] / "docs" / "decisions.md"


def test_what_the_page_shows_fits(pristine: Callable[[str], Path], tmp_path: Path) -> None:
    tree = tmp_path / "candle"
    shutil.copytree(pristine("0.11.1"), tree)

    def sites() -> dict[str, dict[str, Any]]:
        done = invoke("scan", tree, "--format", "json", "--gating", "cfg")
        assert done.code == 0, done.err
        return {site["id"]: site for site in json.loads(done.out)["sites"]}

    before = sites()
    # The page shows more settings than these; its first are those with exceptions.
    shown = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    (tree / NAME).write_text(shown)
    after = sites()
    assert [site["message"] for site in after.values() if site["code"] == "PK903"] == []
    changed = {after[each]["message"] for each in before if after[each] != before[each]}
    assert changed == set(re.findall(r'reason = "(.*)"', shown))
