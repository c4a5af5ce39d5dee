"""PK303: an arm that turns a peer away in code that is specific to CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("peer_arm"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_fallback_arm_needs_nothing() -> None:
    assert said("peer_arm", "unchanged_match_with_a_fallback_arm") == []
