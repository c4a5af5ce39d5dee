"""PK501: an item, a statement or a field under CUDA's feature."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("cfg_item"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_what_names_nothing_of_cuda_is_to_be_reviewed() -> None:
    case = "function_that_names_nothing_of_cuda"
    assert said("cfg_item", case) == [("review", "todo", "on_the_cpu")]
