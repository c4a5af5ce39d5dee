"""Candle's directory, for tests that are about candle's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.codebases.known import named
from portkit.hipify.crate import KernelsCrate
from portkit.hipify.profile import load_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

CANDLE = named("candle")


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
