"""PK521: a Python function or method of CUDA's."""

from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("python_definition"), ids=str)
class TestFixtures(FixtureSuite): ...
