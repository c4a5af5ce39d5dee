"""The GPUs of a machine: those on the PCI bus, and those that the kernel's driver offers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from portkit.doctor.machine import Machine

DRIVER: Final = "/dev/kfd"
"""The device file of the kernel's driver ("Running ROCm Docker containers")."""
RENDER_NODES: Final = "/dev/dri"

_EMULATOR: Final = "librocjitsu"
"""The library by which AMD's emulator answers for the driver (``docs/rocjitsu-cli.md`` of it)."""

_NODES: Final = "/sys/class/kfd/kfd/topology/nodes"
_BUS: Final = "/sys/bus/pci/devices"
_AMD: Final = "0x1002"
"""AMD's number as a maker of graphics (pci_ids.h of Linux, PCI_VENDOR_ID_ATI)."""
_CLASSES: Final = ("0x03", "0x12")
"""Display controllers and processing accelerators (pci_ids.h, PCI_BASE_CLASS_DISPLAY and
PCI_CLASS_ACCELERATOR_PROCESSING)."""

INTEGRATED: Final = frozenset(
    {"gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036"}
    | {"gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}
)
"""Architectures of GPUs that share a chip with the processor (LLVM, "User Guide for AMDGPU
Backend", table "AMDGPU Processors", column "dGPU/APU")."""


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU on the PCI bus."""

    slot: str  # its address, such as ``0000:03:00.0``
    driver: str  # the kernel's driver that has it; empty where none has
    passed: bool  # whether what it reads of memory goes past the IOMMU, or there is none


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the kernel's driver offers for computing."""

    node: int  # its number among the driver's
    arch: str  # such as ``gfx90a``
    render: str  # the path of its render node; empty where the driver names none


def find_cards(machine: Machine) -> tuple[Card, ...]:
    """Return AMD's GPUs on the PCI bus (Linux, ``Documentation/ABI/testing/sysfs-bus-pci``)."""
    found = []
    for slot in machine.names(_BUS):
        place = f"{_BUS}/{slot}"
        if machine.text(f"{place}/vendor") != _AMD:
            continue
        if not machine.text(f"{place}/class").startswith(_CLASSES):
            continue
        driver = f"{place}/driver"
        name = machine.resolved(driver).rpartition("/")[2] if machine.has(driver) else ""
        # "identity" where addresses are not translated (sysfs-kernel-iommu_groups).
        kind = machine.text(f"{place}/iommu_group/type")
        found.append(Card(slot, name, kind in ("", "identity")))
    return tuple(found)


def find_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """Return the GPUs that the driver offers, in its order.

    The decimal digits of ``gfx_target_version`` are major, minor (two) and stepping (two), and are
    0 for a processor; ``drm_render_minor`` is the number of the render node (Linux,
    ``drivers/gpu/drm/amd/amdkfd/kfd_topology.c``).
    """
    found = []
    for node in sorted(filter(str.isdecimal, machine.names(_NODES)), key=int):
        said = machine.text(f"{_NODES}/{node}/properties")
        properties = dict(re.findall(r"^(\w+) (\d+)$", said, re.MULTILINE))
        if not (version := int(properties.get("gfx_target_version", "0"))):
            continue
        minor = properties.get("drm_render_minor", "0")
        render = f"{RENDER_NODES}/renderD{minor}" if minor != "0" else ""
        found.append(Gpu(int(node), parse_arch(version), render))
    return tuple(found)


def is_emulated(machine: Machine) -> bool:
    """Return whether AMD's emulator offers the GPUs: it is loaded into each program."""
    return _EMULATOR in machine.variable("LD_PRELOAD") and bool(find_gpus(machine))


def parse_arch(version: int) -> str:
    """Return the architecture that ``gfx_target_version`` stands for."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
