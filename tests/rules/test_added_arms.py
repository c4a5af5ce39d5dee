"""PK304: arms that the profile adds to one match."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("added_arms"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_the_function_is_found_by_its_symbol() -> None:
    assert said("added_arms", "arms_between_two_gpus") == [("safe", "todo", "Mover::to")]
    assert said("added_arms", "unchanged_match_of_another_function") == []
