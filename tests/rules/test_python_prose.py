"""PK703: a comment or a message in Python."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("python_prose"), ids=str)
class TestFixtures(FixtureSuite): ...
