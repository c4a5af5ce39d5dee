"""PK406: a choice of CUDA's device where there is one."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("if_available"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_match_that_asks_for_both_is_ported() -> None:
    assert said("if_available", "unchanged_where_both_are_asked") == [("safe", "ported", "device")]
