"""PK801: a place of a library without a counterpart."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("unported"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_items_and_conditions_are_kept_with_the_reason() -> None:
    found = findings("unported", "unchanged_items_of_a_library_without_a_counterpart")
    assert [f.construct for f in found] == [
        "feature cudnn",
        "feature cudnn",
        "condition on cudnn",
    ]
    assert all("MIOpen" in f.message for f in found)
