"""PK702: a string that speaks of a backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("message"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_string_that_code_decides_by_is_left_to_a_person() -> None:
    case = "unchanged_string_that_code_decides_by"
    assert said("message", case) == [("manual", "none", "wants_gpu")]


def test_text_for_people_and_kernel_symbols_are_kept() -> None:
    assert {s[:2] for s in said("message", "unchanged_messages")} == {("keep", "none")}
