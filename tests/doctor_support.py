"""Machines as folders: a healthy one, which tests break in one place each."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from portkit.doctor.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

USER = 4242
"""Somebody else than whoever runs the tests, so that the bits of files count."""
RENDER = os.getegid()
"""The group that files of the tests belong to stands for ``render``."""
FX = 110000
"""``gfx_target_version`` of a gfx1100."""


@dataclass(frozen=True)
class Simulated:
    """A machine in a folder.

    Attributes:
        root: the folder.
        environment: the variables.
        groups: of its user.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    groups: frozenset[int] = frozenset({RENDER})

    def machine(self) -> Machine:
        return Machine(self.root, self.environment, USER, self.groups)

    def place(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str = "", mode: int = 0o644) -> None:
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    def link(self, path: str, target: str) -> None:
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def remove(self, path: str) -> None:
        place = self.place(path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    def given(self, **variables: str) -> Simulated:
        return replace(self, environment=self.environment | variables)

    def card(self, slot: str, driver: str = "amdgpu", kind: str = "identity") -> None:
        """Add a GPU to the PCI bus."""
        place = f"/sys/bus/pci/devices/{slot}"
        self.write(f"{place}/vendor", "0x1002\n")
        self.write(f"{place}/class", "0x030000\n")
        if driver:
            self.place(f"/sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            self.link(f"{place}/driver", f"../../drivers/{driver}")
        if kind:
            self.write(f"{place}/iommu_group/type", f"{kind}\n")

    def node(self, number: int, version: int, minor: int = 128) -> None:
        """Add a GPU to those that the driver offers, as the driver writes it."""
        self.write(
            f"/sys/class/kfd/kfd/topology/nodes/{number}/properties",
            f"cpu_cores_count 0\nsimd_count 192\nvendor_id 4098\ndrm_render_minor {minor}\n"
            f"gfx_target_version {version}\n",
        )
        if minor:
            self.write(f"/dev/dri/renderD{minor}", mode=0o660)

    def rocm(self, release: str = "6.2.4", folder: str = "", archs: str = "gfx1100 gfx90a") -> None:
        """Install ROCm as AMD's packages do."""
        root = folder or f"/opt/rocm-{release}"
        major = release.partition(".")[0]
        self.write(f"{root}/.info/version", f"{release}-120\n")
        for name, own in (("amdhip64", major), ("hiprtc", major), ("hiprand", "1")):
            self.write(f"{root}/lib/lib{name}.so.{own}")
            self.link(f"{root}/lib/lib{name}.so", f"lib{name}.so.{own}")
        self.write(f"{root}/lib/librocblas.so.{'4' if major == '6' else '5'}")
        for arch in archs.split():
            self.write(f"{root}/lib/rocblas/library/TensileLibrary_lazy_{arch}.dat")
        self.write(f"{root}/bin/hipcc", "#!/bin/sh\n", 0o755)


def healthy(root: Path) -> Simulated:
    """Return a machine with a gfx1100 and ROCm 6.2.4 on which nothing is missing."""
    made = Simulated(root, {"PATH": "/usr/bin:/opt/rocm/bin", "LOGNAME": "alice"})
    made.write("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    made.write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n")
    made.write("/etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n')
    made.write("/etc/group", f"root:x:0:\nrender:x:{RENDER}:bob\n")
    made.write("/sys/module/amdgpu/version", "6.8.5\n")
    made.card("0000:03:00.0")
    made.write("/sys/class/kfd/kfd/topology/nodes/0/properties", "gfx_target_version 0\n")
    made.node(1, FX)
    made.write("/dev/kfd", mode=0o660)
    made.rocm()
    made.link("/opt/rocm", "/opt/rocm-6.2.4")
    return made
