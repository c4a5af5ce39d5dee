"""PK506: a field of a struct that is named after CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("field"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_the_struct_and_its_initializers_are_found() -> None:
    assert said("field", "a_field_for_each_backend") == [
        ("safe", "todo", "struct Counts::cuda"),
        ("safe", "todo", "zero::cuda"),
    ]
