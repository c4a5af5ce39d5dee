"""PK405: a condition that asks for a peer."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs, said


@pytest.mark.parametrize("run", runs("peer_check"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_is_to_be_reviewed_and_writes_nothing() -> None:
    case = "unchanged_workaround_for_a_peer"
    assert said("peer_check", case) == [("review", "none", "accumulator")]


def test_a_decision_of_the_profile_gives_the_reason() -> None:
    (found,) = findings("peer_check", "unchanged_workaround_that_the_profile_explains")
    assert found.message == "Metal has no half-precision atomics; AMD has"
