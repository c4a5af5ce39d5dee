"""PK203: the workspace's lists of members and of crates left out."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("workspace_member"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_list_that_holds_the_crates_is_ported() -> None:
    assert said("workspace_member", "unchanged_where_both_stand") == [
        ("safe", "ported", "members"),
        ("safe", "ported", "exclude"),
    ]
