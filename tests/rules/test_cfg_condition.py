"""PK502: a condition that names CUDA's feature among others, or its absence."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("cfg_condition"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_there_is_no_dummy_with_gating_cfg() -> None:
    case = "a_module_that_stands_in_for_cuda"
    assert said("cfg_condition", case, "cfg") == [
        ("keep", "none", "dummy_cuda"),
        ("keep", "none", "file"),
    ]
