"""PK505: a variant of an enum that stands for CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("enum_variant"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_variant_under_the_feature_is_left_to_the_rule_for_that() -> None:
    assert said("enum_variant", "a_variant_under_the_feature") == []
