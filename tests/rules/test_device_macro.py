"""PK601: a macro that takes one argument per backend."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("device_macro"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_the_message_says_that_older_calls_go_on_working() -> None:
    (found,) = findings("device_macro", "a_macro_that_makes_a_test_for_each_backend")
    assert found.message == (
        "test_device! takes one more argument, for ROCm; calls with 4 arguments still work"
    )
