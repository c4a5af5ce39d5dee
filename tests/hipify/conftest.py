from __future__ import annotations

import os
from pathlib import Path

import pytest

from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc


@pytest.fixture
def candle_kernels() -> Path:
    """The CUDA sources of candle-kernels 0.11.1 (see docs/kernels/README.md)."""
    folder = os.environ.get("PORTKIT_CANDLE_KERNELS")
    if folder is None:
        pytest.skip("PORTKIT_CANDLE_KERNELS names no candle-kernels/src")
    return Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs AMD's compiler where there is none."""
    try:
        find_hipcc()
    except HipToolError as error:
        for item in items:
            if item.get_closest_marker("hipcc"):
                item.add_marker(pytest.mark.skip(reason=str(error)))
