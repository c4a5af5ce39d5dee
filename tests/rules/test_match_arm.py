"""PK301: an arm of a match on a value of the CUDA backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs, said


@pytest.mark.parametrize("run", runs("match_arm"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_an_arm_for_a_missing_feature_is_kept_where_the_variant_is_missing_too() -> None:
    assert said("match_arm", "arms_under_a_condition", "cfg") == [
        ("safe", "todo", "wait"),
        ("keep", "none", "wait"),
    ]


def test_a_guard_tells_two_arms_on_one_value_apart() -> None:
    assert said("match_arm", "one_of_two_arms_is_missing") == [
        ("safe", "ported", "first"),
        ("safe", "todo", "first"),
    ]


@pytest.mark.parametrize(
    ("case", "constructs"),
    [
        ("a_match_over_devices", ["match arm: Device"]),
        ("arms_that_mix_backends", ["match arm: (Storage, Device)"] * 2),
        ("an_arm_on_a_string", ["match arm: string"]),
    ],
)
def test_it_names_what_the_match_is_about(case: str, constructs: list[str]) -> None:
    assert [f.construct for f in findings("match_arm", case)] == constructs


def test_an_arm_between_the_two_backends_is_not_copied() -> None:
    said_of_it = said("match_arm", "unchanged_arms_between_the_two_backends")
    assert said_of_it == [("safe", "ported", "move_to"), ("safe", "ported", "move_to")]
