"""PK404: a `matches!` on a value of the CUDA backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("matches"), ids=str)
class TestFixtures(FixtureSuite): ...


@pytest.mark.parametrize("gating", ["dummy", "cfg"])
def test_it_is_to_be_reviewed(gating: str) -> None:
    assert said("matches", "a_question_about_gpus", gating) == [("review", "todo", "is_gpu")]
