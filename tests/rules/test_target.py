"""PK204: a target in a manifest that asks for CUDA's feature."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("target"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_target_whose_copy_would_have_its_name_is_left_to_a_person() -> None:
    # Cargo refuses two examples of one name: the Cargo book, "Cargo targets".
    case = "unchanged_example_whose_name_says_nothing_of_cuda"
    assert said("target", case) == [("manual", "none", "train")]


def test_a_target_that_also_needs_an_unported_library_is_kept() -> None:
    case = "unchanged_example_of_a_library_without_a_counterpart"
    assert said("target", case) == [("keep", "none", "cuda_graphs")]
