"""PK401: a condition that asks whether the device is CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs, said


@pytest.mark.parametrize("run", runs("device_check"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_decision_of_the_profile_makes_it_safe() -> None:
    case = "a_dtype_that_gpus_compute_in"
    assert [f.message for f in findings("device_check", case)] == ["AMD GPUs compute in bfloat16"]
    assert said("device_check", case) == [("safe", "todo", "dtype")]


def test_without_a_decision_it_is_to_be_reviewed() -> None:
    assert {s[:2] for s in said("device_check", "in_a_larger_condition")} == {("review", "todo")}


def test_a_decision_to_keep_is_reported_with_its_reason() -> None:
    case = "unchanged_where_the_profile_keeps_it"
    (kept,) = findings("device_check", case)
    assert kept.status == "none"
    assert kept.message == "the fused kernel is not compiled for ROCm yet"
