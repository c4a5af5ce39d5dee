"""PK602: a call of a macro that takes one argument per backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("device_macro_call"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_a_call_with_the_argument_is_ported() -> None:
    assert said("device_macro_call", "unchanged_call_that_names_rocm") == [
        ("safe", "ported", "add")
    ]
