"""How what is missing is called as a package, by distribution."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portkit.doctor.machine import Machine


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages that hold one thing."""

    amd: str  # AMD's, the same for apt and dnf
    debian: str  # Debian's and Ubuntu's own
    fedora: str  # Fedora's own


PACKAGES: Final = {
    "amdhip64": Packages("hip-runtime-amd", "libamdhip64-dev", "rocm-hip"),
    "hiprtc": Packages("hip-runtime-amd", "libhiprtc6", "rocm-hip"),
    "rocblas": Packages("rocblas", "librocblas-dev", "rocblas"),
    "hipblaslt": Packages("hipblaslt", "libhipblaslt-dev", "hipblaslt"),
    "hiprand": Packages("hiprand", "libhiprand-dev", "hiprand"),
    "MIOpen": Packages("miopen-hip", "libmiopen-dev", "miopen"),
    "rccl": Packages("rccl", "librccl-dev", "rccl"),
    "hipcc": Packages("hipcc", "hipcc", "hipcc"),
}
"""AMD's from repo.radeon.com (``crates/hip/src/loader.rs`` names them too), Debian's from
packages.debian.org, Fedora's from packages.fedoraproject.org."""


def describe_install(machine: Machine, *wanted: str) -> str:
    """Return how to install things, as a part of a sentence."""
    said = dict(re.findall(r'(?m)^(\w+)="?([^"\n]*)"?$', machine.text("/etc/os-release")))
    kin = {said.get("ID", ""), *said.get("ID_LIKE", "").split()}
    amd = _join_packages(PACKAGES[name].amd for name in wanted)
    sudo = "" if machine.user == 0 else "sudo "
    if kin & {"debian", "ubuntu"}:
        own = _join_packages(PACKAGES[name].debian for name in wanted)
        return _describe_choice(f"{sudo}apt install", amd, own, "the distribution's")
    if "fedora" in kin:
        own = _join_packages(PACKAGES[name].fedora for name in wanted)
        return _describe_choice(f"{sudo}dnf install", amd, own, "Fedora's")
    return f"install AMD's packages {amd}"


def _describe_choice(command: str, amd: str, own: str, whose: str) -> str:
    if amd == own:
        return f"run `{command} {amd}`"
    return f"run `{command} {amd}` (AMD's packages) or `{command} {own}` ({whose} own)"


def _join_packages(names: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(names))
