"""PK701: a comment that speaks of a backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("comment"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_prose_is_kept_unless_the_profile_changes_it() -> None:
    assert [s[:2] for s in said("comment", "a_comment_that_the_profile_changes")] == [
        ("safe", "todo"),
        ("keep", "none"),
    ]
    assert {s[:2] for s in said("comment", "unchanged_comments")} == {("keep", "none")}
