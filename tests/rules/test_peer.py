"""PK802: a place that belongs to a peer of CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("peer"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_every_place_is_kept() -> None:
    assert {s[:2] for s in said("peer", "unchanged_places_of_a_peer")} == {("keep", "none")}
