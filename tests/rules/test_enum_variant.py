from __future__ import annotations

import pytest
from harness import FixtureSuite, runs


@pytest.mark.parametrize("run", runs("enum_variant"), ids=str)
class TestFixtures(FixtureSuite): ...
