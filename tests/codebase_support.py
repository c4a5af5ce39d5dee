"""Candle's directory, for tests that are about candle's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.codebases.registry import find_codebase
from portkit.hipify.kernel_profile import load_profile
from portkit.hipify.kernels_crate import KernelsCrate

if TYPE_CHECKING:
    from collections.abc import Mapping

CANDLE = find_codebase("candle")


def candle_kernels(source: Mapping[str, bytes], version: str, shared: str = "") -> KernelsCrate:
    """Return the crate of kernels that candle's port has, from the sources of a version."""
    known = load_profile(CANDLE, "candle")
    return KernelsCrate(
        source,
        version=version,
        name="candle-rocm-kernels",
        facade="candle-hip",
        variables="CANDLE_ROCM",
        profile=known,
        own=CANDLE,
        shared=shared,
    )
