"""PK403: an `if let` on a value of the CUDA backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("if_let"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_step_that_is_shared_is_to_be_reviewed() -> None:
    assert said("if_let", "a_step_that_binds_nothing") == [("review", "todo", "finish")]
    assert said("if_let", "a_step_that_binds_nothing", "cfg") == [("safe", "todo", "finish")]


def test_a_branch_that_cannot_stand_under_the_feature_is_left_to_a_person() -> None:
    assert said("if_let", "a_value_with_an_else", "cfg") == [
        ("manual", "none", "ordinal"),
        ("manual", "none", "next"),
    ]
