"""PK510: a statement that calls something of CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs, said


@pytest.mark.parametrize("run", runs("statement"), ids=str)
class TestFixtures(FixtureSuite): ...


def test_what_binds_or_assigns_is_not_guessed_at() -> None:
    assert said("statement", "unchanged_statements_that_bind_or_assign") == []
