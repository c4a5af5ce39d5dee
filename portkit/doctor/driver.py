"""Whether there is a GPU, and the kernel's driver offers it for computing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaints import (
    CONTAINERS,
    INSTALL,
    KERNEL,
    KFD,
    REQUIREMENTS,
    TROUBLES,
    Complaint,
    make_problem,
)
from portkit.doctor.gpus import DRIVER, RENDER_NODES, find_cards, find_gpus, is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

DEVICES: Final = "--device /dev/kfd --device /dev/dri"
"""What a container is started with to have the GPUs ("Running ROCm Docker containers")."""

_DENIED: Final = re.compile(r"(modprobe\.blacklist|module_blacklist)=(.*,)?amdgpu(,|$)")
"""Words of the kernel's command line (kernel-parameters, modprobe(8))."""
_MODULE: Final = "/sys/module/amdgpu"
_WSL: Final = (
    "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/"
    "howto_wsl.html"
)


def check_driver(machine: Machine) -> Iterator[Complaint]:
    """Yield the first thing that keeps the driver from offering a GPU.

    What comes after it follows from it.
    """
    if not machine.has("/proc/sys/kernel/osrelease"):
        yield make_problem(
            "no-linux",
            "this is no Linux",
            "take a machine with Linux: portkit was tried on nothing else",
            REQUIREMENTS,
        )
        return
    if "microsoft" in machine.text("/proc/sys/kernel/osrelease").lower():
        yield make_problem(
            "wsl",
            "this is the Windows Subsystem for Linux, which has /dev/dxg in place of /dev/kfd",
            "take a machine that runs Linux itself: portkit was not tried there",
            _WSL,
        )
        return
    if is_emulated(machine):
        return
    if not (found := find_cards(machine)):
        yield make_problem(
            "no-gpu",
            "there is no AMD GPU on the PCI bus",
            "take a machine with one; `portkit trial --device cpu` and `--device emulator` do"
            " without",
            REQUIREMENTS,
        )
        return
    if not any(card.driver == "amdgpu" for card in found):
        yield _explain_missing_driver(
            machine, next(filter(None, (card.driver for card in found)), "")
        )
    elif not machine.has(DRIVER):
        yield _explain_missing_kfd(machine)
    elif not find_gpus(machine):
        yield make_problem(
            "gpu-refused",
            f"the driver amdgpu has the GPU at {found[0].slot}, and does not offer it for"
            " computing",
            "look for `kfd` in `sudo dmesg`: it says why, such as that the slot has no PCIe"
            " atomics; then another slot, or another mainboard, helps",
            f"{KFD}kfd_device.c",
        )
    else:
        yield from _explain_missing_nodes(machine)


def is_container(machine: Machine) -> bool:
    """Return whether the machine is a container: what Docker and Podman leave in one.

    ``/.dockerenv`` is Docker's, ``/run/.containerenv`` Podman's (podman-run(1)), and the variable
    is systemd's convention (Container Interface, systemd.io).
    """
    left = ("/.dockerenv", "/run/.containerenv")
    return any(map(machine.has, left)) or bool(machine.variable("container"))


def _explain_missing_driver(machine: Machine, other: str) -> Complaint:
    """Return why no GPU has the driver amdgpu."""
    words = machine.text("/proc/cmdline").split()
    denied = [
        f"/etc/modprobe.d/{name}"
        for name in machine.names("/etc/modprobe.d")
        if re.search(r"(?m)^\s*blacklist\s+amdgpu\b", machine.text(f"/etc/modprobe.d/{name}"))
    ]
    if other:
        return make_problem(
            "other-driver",
            f"the driver {other} has the GPU, not amdgpu",
            f"take it away from {other}: vfio-pci holds it for a virtual machine, radeon is for"
            " GPUs that are too old",
            TROUBLES,
        )
    if said := [word for word in words if word in ("nomodeset", "amdgpu.modeset=0")]:
        return make_problem(
            "driver-off",
            f"the kernel was started with {said[0]}, with which amdgpu does nothing",
            "take it out of GRUB_CMDLINE_LINUX in /etc/default/grub, run `sudo update-grub` and"
            " start the machine again",
            KERNEL,
        )
    if denied or any(_DENIED.match(word) for word in words):
        where = denied[0] if denied else "the kernel's command line"
        return make_problem(
            "driver-denied",
            f"{where} keeps the driver amdgpu from being loaded",
            "take it out there and start the machine again",
            TROUBLES,
        )
    loaded = machine.has(_MODULE)
    return make_problem(
        "no-driver",
        f"the driver amdgpu {'is loaded and has no GPU' if loaded else 'is not loaded'}",
        "run `sudo modprobe amdgpu` and look into `sudo dmesg`; where there is no such module,"
        " install amdgpu-dkms",
        f"{INSTALL}install/install-methods/package-manager-index.html",
    )


def _explain_missing_kfd(machine: Machine) -> Complaint:
    if is_container(machine):
        return make_problem(
            "container-without-devices",
            f"this container was started without {DRIVER}",
            f"start it with `{DEVICES}`",
            CONTAINERS,
        )
    return make_problem(
        "no-kfd",
        f"the driver amdgpu is loaded and {DRIVER} is not there",
        "take a kernel with CONFIG_HSA_AMD, such as your distribution's, or install amdgpu-dkms",
        f"{KFD}Kconfig",
    )


def _explain_missing_nodes(machine: Machine) -> Iterator[Complaint]:
    missing = [
        gpu.render for gpu in find_gpus(machine) if gpu.render and not machine.has(gpu.render)
    ]
    if not missing:
        return
    what = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there"
    # Whoever hands over one GPU of several does so on purpose (ROCm's page, "Restricting GPU
    # access").
    nodes = [name for name in machine.names(RENDER_NODES) if name.startswith("renderD")]
    if is_container(machine):
        if not nodes:
            mend = f"start the container with `{DEVICES}`"
            yield make_problem("container-without-devices", what, mend, CONTAINERS)
        return
    mend = "start the machine again; where that does not help, look for `amdgpu` in `sudo dmesg`"
    yield make_problem("no-render-node", what, mend, CONTAINERS)
