"""PK202: a dependency on a crate of CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("dependency"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_says_what_it_leaves_alone() -> None:
    case = "unchanged_dependency_that_the_feature_does_not_ask_for"
    assert said("dependency", case) == [("keep", "none", "cudarc"), ("keep", "none", "metal")]
