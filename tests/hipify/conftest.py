from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def candle_kernels() -> Path:
    """The CUDA sources of candle-kernels 0.11.1 (see docs/kernels/README.md)."""
    folder = os.environ.get("PORTKIT_CANDLE_KERNELS")
    if folder is None:
        pytest.skip("PORTKIT_CANDLE_KERNELS names no candle-kernels/src")
    return Path(folder)
