"""The pages made from the code are those in the repository."""

from __future__ import annotations

from pathlib import Path

from portkit.hipify.docs import pages

REPOSITORY = Path(__file__).parent.parent.parent


def test_pages_are_up_to_date() -> None:
    for path, text in pages(REPOSITORY).items():
        assert (REPOSITORY / path).read_text() == text, (
            f"{path}: run python -m portkit.hipify.docs ."
        )
