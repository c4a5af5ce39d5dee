"""How many wavefronts of a kernel a SIMD holds at one time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from portkit.hipify.code_object import KernelUse


@dataclass(frozen=True)
class Simd:
    """What a SIMD has for its wavefronts.

    Attributes:
        registers: vector registers of a lane, for all wavefronts together.
        granule: registers are given out by as many.
        most: wavefronts at one time, whatever they use.
    """

    registers: int
    granule: int
    most: int


SIMDS: Final = {
    "gfx90a": Simd(512, 8, 8),
    "gfx942": Simd(512, 8, 8),
    "gfx1030": Simd(1024, 16, 16),
    "gfx1100": Simd(1536, 24, 16),
    "gfx1201": Simd(1536, 24, 16),
}
"""By architecture, for its own wave size. Source: LLVM, ``AMDGPUBaseInfo.cpp``
(``getTotalNumVGPRs``, ``getVGPRAllocGranule``, ``getMaxWavesPerEU``)."""


def waves(use: KernelUse, arch: str) -> int:
    """Return how many wavefronts a SIMD holds, as far as registers limit them.

    Group memory that a kernel asks for at its launch is in no code object, and limits them further.

    Args:
        use: what the kernel uses; its vector registers count those for accumulation.
        arch: one of ``SIMDS``.
    """
    simd = SIMDS[arch]
    given = max(1, math.ceil(use.vgpr / simd.granule)) * simd.granule
    return min(simd.most, simd.registers // given)
