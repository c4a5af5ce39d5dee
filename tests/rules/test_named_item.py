"""PK507: a type, a constant, a static, a trait or a module named after CUDA."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, findings, runs


@pytest.mark.parametrize("run", runs("named_item"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_it_names_the_kind_of_item() -> None:
    found = findings("named_item", "an_item_of_each_kind")
    assert [f.construct for f in found] == ["type", "const", "struct", "trait", "static"]
