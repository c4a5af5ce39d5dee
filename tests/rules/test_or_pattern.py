"""PK302: an or-pattern in which CUDA's value stands beside others."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("or_pattern"), ids=str)
class TestFixtures(FixtureSuite): ...


@pytest.mark.parametrize(
    "case", ["a_pattern_of_several_backends", "nested_in_a_tuple", "a_pattern_of_strings"]
)
def test_it_is_mechanical(case: str) -> None:
    assert [s[:2] for s in said("or_pattern", case)] == [("safe", "todo")]
