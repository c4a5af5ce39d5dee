"""The pages made from the code are those in the repository."""

from __future__ import annotations

import re
from pathlib import Path

from portkit.hipify.ptx_instructions import is_known_instruction
from tools.pages.kernels import pages

REPOSITORY = Path(__file__).parent.parent.parent


def test_pages_are_up_to_date() -> None:
    for path, text in pages(REPOSITORY).items():
        assert (REPOSITORY / path).read_text() == text, (
            f"{path}: run python -m tools.pages.kernels ."
        )


def test_the_page_on_ptx_names_what_is_known() -> None:
    page = (REPOSITORY / "docs" / "kernels" / "ptx.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z][^`]*)`", row)]
    assert len(named) > 70
    assert [name for name in named if not is_known_instruction(name)] == []
