"""Names of translated files."""

from __future__ import annotations

from pathlib import PurePosixPath

HIP_SUFFIXES = {".cu": ".hip", ".cuh": ".h"}
"""What a CUDA file's suffix becomes; clang takes ``.hip`` for HIP by itself."""

BUILD_SCRIPT = "hiprc-build"
"""The crate that compiles kernels, as it is called where it is published."""

PATCH_FILE = "cuda.patch"
"""Beside the sources of a crate that has CUDA's compiled as they stand: what is changed in them."""


def is_cuda(path: str) -> bool:
    """Whether the path names a CUDA source or header by its suffix."""
    return PurePosixPath(path).suffix in HIP_SUFFIXES


def derive_hip_path(path: str) -> str:
    """Return the path of the translation of ``path``; a path that is not CUDA's stays.

    ``cuda_utils.cuh`` becomes ``hip_utils.h``.
    """
    old = PurePosixPath(path)
    suffix = HIP_SUFFIXES.get(old.suffix)
    if suffix is None:
        return path
    return str(old.with_name(old.stem.replace("cuda", "hip") + suffix))
