"""PK201: the Cargo feature of the CUDA backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("feature"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_says_what_it_leaves_alone() -> None:
    case = "unchanged_features_of_peers_and_of_libraries_without_a_counterpart"
    assert said("feature", case) == [
        ("keep", "none", "metal"),
        ("keep", "none", "cudnn"),
        ("keep", "none", "nccl"),
    ]


def test_a_feature_that_only_turns_cuda_on_is_not_guessed_at() -> None:
    assert said("feature", "unchanged_feature_that_turns_several_on") == []
