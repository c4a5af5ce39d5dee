"""PK504: a trait's method for CUDA, and each implementation of it."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("trait_method"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_defaults_and_implementations_are_told_apart() -> None:
    found = findings("trait_method", "a_default_and_an_implementation")
    assert [(f.construct, f.symbol) for f in found] == [
        ("trait method default", "trait Operation::cuda_fwd"),
        ("trait method impl", "Operation for Negate::cuda_fwd"),
    ]
