"""PK508: an implementation for one of CUDA's types, or of one of its traits."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("backend_impl"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_the_head_names_trait_and_type() -> None:
    found = findings("backend_impl", "an_implementation_for_a_type_of_cuda")
    assert [f.symbol for f in found] == ["CudaTimer", "From<CudaTimer> for u64"]
