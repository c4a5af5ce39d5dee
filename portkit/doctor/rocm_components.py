"""Where ROCm is on a machine, and in which version: its libraries, its compiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import LIBRARIES
from portkit.workspace.programs import ROCM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

Version = tuple[int, int]
"""The first two numbers of a release of ROCm."""

DEFAULT: Final = ROCM
DISTRIBUTION: Final = "/usr"
"""Where a distribution's own packages install it."""
NAMES: Final = {library.name: library.versions for library in LIBRARIES}
"""The libraries that a port looks for, with the versions that follow ``.so``."""
FEATURE_LIBRARIES: Final = frozenset({"MIOpen", "hipblaslt", "rccl"})
"""Those of them that a port does without, or that only a feature asks for: the program tells it."""

_LOADER: Final = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
"""Where the dynamic loader looks without being told (ld.so(8))."""


@dataclass(frozen=True, slots=True)
class Component:
    """A library or the compiler."""

    name: str  # such as ``amdhip64``
    path: str  # where it is, links followed
    root: str  # the installation that it belongs to, such as ``/opt/rocm-7.2.0``
    version: Version | None  # of that installation; none where nothing says it


def find_library(machine: Machine, name: str) -> Component | None:
    """Return the library that a port would open, found as it is by ``crates/hip/src/loader.rs``.

    It is looked for in ``lib`` of ``ROCM_PATH`` and ``HIP_PATH``, on the loader's path, and in
    ``lib`` of ``/opt/rocm``. Releases before ROCm 6 are passed over.
    """
    plain = f"lib{name}.so"
    versioned = tuple(f"{plain}.{version}" for version in NAMES[name])
    told = [machine.variable(variable) for variable in ("ROCM_PATH", "HIP_PATH")]
    named = tuple(_read_library_path(machine))
    searched = (*(f"{root}/lib" for root in filter(None, told)), *named)
    others = tuple(folder for folder in _list_loader_folders(machine) if folder not in named)
    candidates = [
        *(f"{folder}/{file}" for folder in searched for file in (plain, *versioned)),
        *(f"{folder}/{file}" for file in versioned for folder in others),
        *(f"{DEFAULT}/lib/{file}" for file in (plain, *versioned)),
        *(f"{folder}/{plain}" for folder in others),
    ]
    for candidate in candidates:
        if machine.has(candidate):
            path = machine.resolved(candidate)
            version = re.search(rf"/lib{re.escape(name)}\.so\.(\d+)[^/]*$", path)
            if version is None or int(version[1]) >= min(map(int, NAMES[name])):
                return _make_component(machine, name, path)
    return None


def find_compiler(machine: Machine) -> Component | None:
    """Return hipcc, found as builds find it.

    They look by ``HIPCC``, below ``ROCM_PATH`` and ``HIP_PATH``, on ``PATH``, below ``/opt/rocm``.
    """
    told = [machine.variable(variable) for variable in ("ROCM_PATH", "HIP_PATH")]
    folders = [folder for folder in machine.variable("PATH").split(":") if folder.startswith("/")]
    candidates = [
        machine.variable("HIPCC"),
        *(f"{root}/bin/hipcc" for root in filter(None, told)),
        *(f"{folder}/hipcc" for folder in folders),
        f"{DEFAULT}/bin/hipcc",
    ]
    for candidate in candidates:
        if candidate.startswith("/") and machine.has(candidate):
            return _make_component(machine, "hipcc", machine.resolved(candidate))
    return None


def find_installations(machine: Machine) -> dict[str, Version | None]:
    """Return the installations of ROCm below ``/opt`` and where the environment says, by path."""
    told = [machine.variable(name) for name in ("ROCM_PATH", "HIP_PATH")]
    below = [f"/opt/{name}" for name in machine.names("/opt") if name.startswith("rocm")]
    found = {}
    for place in (*filter(None, told), *below):
        root = machine.resolved(place)
        version = read_release(machine, root)
        if version or machine.has(f"{root}/lib/libamdhip64.so"):
            found[root] = version
    return dict(sorted(found.items()))


def read_release(machine: Machine, root: str) -> Version | None:
    """Return the version of an installation.

    ``.info/version`` is AMD's; ``share/hip/version`` is what hipcc reads (``hipvars.pm``).
    """
    for place in (f"{root}/.info/version", f"{root}/core/.info/version"):
        if match := re.match(r"(\d+)\.(\d+)", machine.text(place)):
            return int(match[1]), int(match[2])
    said = dict(re.findall(r"HIP_VERSION_(\w+)=(\d+)", machine.text(f"{root}/share/hip/version")))
    return (int(said["MAJOR"]), int(said["MINOR"])) if {"MAJOR", "MINOR"} <= said.keys() else None


def _make_component(machine: Machine, name: str, path: str) -> Component:
    match = re.match(r"(.*?)/(?:lib|lib64|bin|llvm|hip)(?:/.*)?/[^/]+$", path)
    root = (match[1] if match else "") or DISTRIBUTION
    version = read_release(machine, root)
    # The runtime's file is named after its release: libamdhip64.so.6.2.60204.
    if name == "amdhip64" and version is None and (own := re.search(r"\.so\.(\d+)\.(\d+)", path)):
        version = int(own[1]), int(own[2])
    return Component(name, path, root, version)


def _read_library_path(machine: Machine) -> Iterator[str]:
    for folder in machine.variable("LD_LIBRARY_PATH").split(":"):
        if folder.startswith("/"):
            yield folder


def _list_loader_folders(machine: Machine) -> Iterator[str]:
    """Yield the folders in which the dynamic loader looks, in its order (ld.so(8))."""
    yield from _read_library_path(machine)
    for name in machine.names("/etc/ld.so.conf.d"):
        for line in machine.text(f"/etc/ld.so.conf.d/{name}").splitlines():
            if line.strip().startswith("/"):
                yield line.strip()
    for folder in _LOADER:
        yield folder
        yield f"{folder}/x86_64-linux-gnu"
