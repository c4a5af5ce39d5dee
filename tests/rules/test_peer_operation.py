"""PK803: an operation that a peer has and CUDA has not."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("peer_operation"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_is_to_be_reviewed() -> None:
    assert said("peer_operation", "unchanged_operation_that_only_a_peer_has") == [
        ("review", "none", "Operation for Attention::metal_fwd")
    ]
    assert said("peer_operation", "where_both_have_it") == []
