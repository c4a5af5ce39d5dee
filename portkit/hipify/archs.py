"""The architectures that kernels are compiled for, and what LLVM's generic targets stand for."""

from __future__ import annotations

from typing import Final

ARCHS: Final = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")
"""Architectures that the port promises."""

ROCM_7_ARCHS: Final = ("gfx950",)
"""Those that it promises with ROCm 7 alone: rocPRIM before does not compile for them."""

FAMILY_ARCHS: Final = {
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942"),
    "gfx10-3-generic": (
        *("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    ),
    "gfx11-generic": (
        *("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
        *("gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    ),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}
"""LLVM's targets for families that the port promises too, and the processors that each covers
(LLVM 21, "User Guide for AMDGPU Backend", table "AMDGPU Generic Processors"; without gfx950, for
which code of ``gfx9-4-generic`` has too few wait states, see ``crates/hip/src/arch.rs``)."""

GENERIC_ARCHS: Final = tuple(FAMILY_ARCHS)


def is_supported_arch(arch: str) -> bool:
    """Return whether the port promises an architecture, by its name or in a family."""
    return arch in (*ARCHS, *ROCM_7_ARCHS) or any(
        arch in covered for covered in FAMILY_ARCHS.values()
    )
