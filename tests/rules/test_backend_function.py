"""PK503: a function that is named after CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("backend_function"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_methods_and_functions_are_told_apart() -> None:
    case = "a_function_that_answers_without_the_feature"
    found = findings("backend_function", case)
    assert [(f.construct, f.symbol) for f in found] == [
        ("fn", "cuda_is_available"),
        ("inherent fn", "Answer::is_cuda"),
    ]
