"""PK511: a function under CUDA's feature whose name says nothing of CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("cfg_function"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_is_safe_where_a_parameter_says_the_device() -> None:
    case = "a_function_that_callers_use_by_its_name"
    assert said("cfg_function", case) == [("safe", "todo", "route")]


def test_a_function_that_a_person_ported_is_left_alone() -> None:
    case = "unchanged_function_that_a_person_ported"
    assert said("cfg_function", case) == [("safe", "ported", "route")]
