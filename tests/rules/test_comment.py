from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("comment"), ids=str)
class TestFixtures(FixtureSuite): ...
