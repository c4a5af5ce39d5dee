"""PK522: a Python name of CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("python_name"), ids=str)
class TestFixtures(FixtureSuite): ...
