"""PK523: a Python condition on a device's name."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("python_condition"), ids=str)
class TestFixtures(FixtureSuite): ...
