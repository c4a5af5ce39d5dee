"""Whether there is a GPU, and the kernel's driver offers it for computing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaints import Complaint, make_complaint
from portkit.doctor.gpus import DRIVER, RENDER_NODES, find_cards, find_gpus, is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

DEVICES: Final = "--device /dev/kfd --device /dev/dri"
"""What a container is started with to have the GPUs ("Running ROCm Docker containers")."""
_DENIED: Final = re.compile(r"(modprobe\.blacklist|module_blacklist)=(.*,)?amdgpu(,|$)")
"""Words of the kernel's command line (kernel-parameters, modprobe(8))."""
_MODULE: Final = "/sys/module/amdgpu"


def check_driver(machine: Machine) -> Iterator[Complaint]:
    """Yield the first thing that keeps the driver from offering a GPU.

    What comes after it follows from it.
    """
    if not machine.has("/proc/sys/kernel/osrelease"):
        yield make_complaint("no-linux")
        return
    if "microsoft" in machine.text("/proc/sys/kernel/osrelease").lower():
        yield make_complaint("wsl")
        return
    if is_emulated(machine):
        return
    if not (found := find_cards(machine)):
        yield make_complaint("no-gpu")
        return
    if not any(card.driver == "amdgpu" for card in found):
        yield _explain_missing_driver(
            machine, next(filter(None, (card.driver for card in found)), "")
        )
    elif not machine.has(DRIVER):
        yield _explain_missing_kfd(machine)
    elif not find_gpus(machine):
        yield make_complaint("gpu-refused", slot=found[0].slot)
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
        return make_complaint("other-driver", other=other)
    if said := [word for word in words if word in ("nomodeset", "amdgpu.modeset=0")]:
        return make_complaint("driver-off", option=said[0])
    if denied or any(_DENIED.match(word) for word in words):
        where = denied[0] if denied else "the kernel's command line"
        return make_complaint("driver-denied", where=where)
    loaded = machine.has(_MODULE)
    return make_complaint(
        "no-driver", state="is loaded and has no GPU" if loaded else "is not loaded"
    )


def _explain_missing_kfd(machine: Machine) -> Complaint:
    if is_container(machine):
        return make_complaint("container-without-devices")
    return make_complaint("no-kfd")


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
            yield make_complaint("container-without-nodes", nodes=what)
        return
    yield make_complaint("no-render-node", nodes=what)
