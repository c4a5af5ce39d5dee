"""PK402: a branch that does something of CUDA's own."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, Run, cases, findings, runs


@pytest.mark.parametrize("run", runs("device_branch"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_the_span_ends_with_the_branch() -> None:
    (branch,) = findings("device_branch", "a_chain_with_a_branch_for_each_backend")
    source = Run(cases("device_branch")[0], "dummy").before["src/lib.rs"]
    text = source[branch.span.start : branch.span.end].decode()
    assert text.startswith("if gpu::utils::cuda_is_available()")
    assert text.endswith("Device::new_cuda(0)\n    }")
