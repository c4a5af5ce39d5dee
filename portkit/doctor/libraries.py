"""Whether ROCm's libraries and its compiler are there, new enough, and of one version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaints import Complaint, make_complaint
from portkit.doctor.gpus import find_gpus
from portkit.doctor.packages import describe_install
from portkit.doctor.rocm_components import (
    FEATURE_LIBRARIES,
    NAMES,
    Component,
    find_compiler,
    find_installations,
    find_library,
)
from portkit.doctor.runtime_settings import read_overrides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine
    from portkit.doctor.rocm_components import Version

OLDEST: Final = (6, 2)
"""The first release of ROCm that a port runs on (``crates/hip/README.md``)."""
TRIED: Final = ((6, 2), (7, 2))
"""The releases whose declarations the bindings were compared with (``docs/bindings.md``)."""

_OF_ARCH: Final = re.compile(r"TensileLibrary_(?:\w+_)?(gfx\w+)\.")


def check_libraries(machine: Machine) -> Iterator[Complaint]:
    """Yield the libraries that are missing, and the compiler."""
    found = {name: find_library(machine, name) for name in sorted(NAMES)}
    hipcc = find_compiler(machine)
    if not any(found.values()) and hipcc is None:
        wanted = (*(name for name in found if name not in FEATURE_LIBRARIES), "hipcc")
        yield make_complaint("no-rocm", install=describe_install(machine, *wanted))
        return
    for name, place in found.items():
        if place is None and name not in FEATURE_LIBRARIES:
            files = ", ".join((f"lib{name}.so", *(f"lib{name}.so.{v}" for v in NAMES[name])))
            yield make_complaint(
                "no-library", library=name, install=describe_install(machine, name), files=files
            )
    if hipcc is None:
        yield make_complaint("no-compiler", install=describe_install(machine, "hipcc"))


def check_versions(machine: Machine) -> Iterator[Complaint]:
    """Yield that ROCm is too old or untried, or that parts of two versions are mixed."""
    runtime, hipcc = find_library(machine, "amdhip64"), find_compiler(machine)
    if runtime and runtime.version:
        if runtime.version < OLDEST:
            yield make_complaint(
                "old-rocm",
                version=_format_version(runtime.version),
                root=runtime.root,
                oldest=_format_version(OLDEST),
            )
        elif runtime.version > TRIED[1]:
            yield make_complaint(
                "untried-rocm",
                version=_format_version(runtime.version),
                root=runtime.root,
                newest=_format_version(TRIED[1]),
            )
    parts = [part for name in sorted(NAMES) if (part := find_library(machine, name))]
    if hipcc:
        parts.append(hipcc)
    # One for each installation: a distribution knows which of its own packages go together.
    mixed = {part.root: part for part in reversed(parts) if part.version}
    if len({part.version for part in mixed.values()}) > 1:
        told = ", ".join(
            f"{p.name} {_format_version(p.version)} in {p.root}" for p in mixed.values()
        )
        yield make_complaint("mixed-versions", told=told)
        return
    several = {root: version for root, version in find_installations(machine).items() if version}
    if len(set(several.values())) > 1 and not machine.variable("ROCM_PATH"):
        used = f" ({runtime.root} is used)" if runtime else ""
        yield make_complaint(
            "two-versions",
            versions=", ".join(
                (f"{_format_version(version)} in {root}" for root, version in several.items())
            ),
            used=used,
        )


def check_rocblas_kernels(machine: Machine) -> Iterator[Complaint]:
    """Yield the GPUs for whose architecture rocBLAS has no kernels.

    It looks for ``TensileLibrary_lazy_gfx90a.dat``, or without ``lazy``, in the folder
    ``rocblas/library`` beside the library, unless ``ROCBLAS_TENSILE_LIBPATH`` names another
    (ROCm/rocBLAS, issues 1267 and 1339). Without it the process is ended.
    """
    rocblas = find_library(machine, "rocblas")
    if rocblas is None:
        return
    folder = _find_kernel_folder(machine, rocblas)
    files = machine.names(folder)
    known = sorted({match[1] for match in map(_OF_ARCH.match, files) if match})
    told = read_overrides(machine)
    for arch in sorted({told.get(gpu.node, gpu.arch) for gpu in find_gpus(machine)}):
        if arch in known or "TensileLibrary.dat" in files or "TensileLibrary.yaml" in files:
            continue
        has = f"it has those of {', '.join(known)}" if known else "the folder has none"
        yield make_complaint(
            "no-rocblas-kernels",
            arch=arch,
            folder=folder,
            has=has,
            install=describe_install(machine, "rocblas"),
        )


def _find_kernel_folder(machine: Machine, rocblas: Component) -> str:
    """Return where rocBLAS looks for its kernels."""
    if own := machine.variable("ROCBLAS_TENSILE_LIBPATH"):
        return own
    beside = rocblas.path.rpartition("/")[0]
    plain = f"{beside}/rocblas/library"
    if machine.has(plain):
        return plain
    # Debian has a folder for each version between.
    for version in reversed(machine.names(f"{beside}/rocblas")):
        if machine.has(f"{beside}/rocblas/{version}/library"):
            return f"{beside}/rocblas/{version}/library"
    return plain


def _format_version(version: Version | None) -> str:
    return ".".join(map(str, version or ()))
