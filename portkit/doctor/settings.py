"""What tells the runtime other than the truth: variables, architectures, kernel parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaint import (
    PREREQUISITES,
    REQUIREMENTS,
    TROUBLES,
    VARIABLES,
    Complaint,
    doubt,
    problem,
)
from portkit.doctor.gpus import INTEGRATED, cards, gpus
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS, promised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

OVERRIDE: Final = "HSA_OVERRIDE_GFX_VERSION"
_THUNK: Final = "https://github.com/ROCm/ROCR-Runtime/blob/amd-staging/libhsakmt/src/topology.c"
HIDING: Final = (
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)
"""Variables that say which GPUs a program sees ("ROCm environment variables", GPU isolation)."""


def overridden(machine: Machine) -> dict[int, str]:
    """Return what the runtime takes each GPU for, by its node, where a variable says so.

    ``HSA_OVERRIDE_GFX_VERSION_2=10.3.0`` is for node 2, the variable without a number for all
    (libhsakmt, ``topology.c``); the numbers are major, minor and stepping.
    """
    found = {}
    for gpu in gpus(machine):
        said = machine.variable(f"{OVERRIDE}_{gpu.node}") or machine.variable(OVERRIDE)
        if version := _version(said):
            found[gpu.node] = version
    return found


def _version(text: str) -> str:
    """Return the architecture that ``10.3.0`` stands for; empty where the text is no version."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    return f"gfx{int(match[1])}{int(match[2]):x}{int(match[3]):x}" if match else ""


def variables(machine: Machine) -> Iterator[Complaint]:
    """Yield the variables that change what a program takes the GPUs for, or hide them."""
    if machine.variable("PORTKIT_DEVICE_ARCH"):
        yield problem(
            "cpu-device",
            "the environment is that of the CPU device, on which programs run in place of the GPU",
            "take another shell, without what `portkit device` printed",
            "docs/device.md",
        )
    for name in sorted(machine.environment):
        if re.fullmatch(rf"{OVERRIDE}(_\d+)?", name) and not _version(machine.variable(name)):
            yield problem(
                "override",
                f"{name} is {machine.variable(name)!r}, which is no version, and the runtime ends",
                "unset it",
                _THUNK,
            )
    for gpu in gpus(machine):
        told = overridden(machine).get(gpu.node, gpu.arch)
        if told == gpu.arch:
            continue
        # Build scripts read the driver's own word, unless a variable of the codebase names others
        # (crates/build/src/kernels/compiler.rs).
        asked = [v for name, v in machine.environment.items() if name.endswith("_ROCM_ARCHS")]
        complaint = doubt if any(told in value.split(",") for value in asked) else problem
        yield complaint(
            "override",
            f"{OVERRIDE} has the runtime take the {gpu.arch} for a {told}, for which a build on"
            " this machine compiles no kernels",
            f"unset it; or name {told} to the build, in the codebase's variable that ends in"
            " _ROCM_ARCHS, and trust no result",
            _THUNK,
        )
    for name in HIDING:
        if name not in machine.environment:
            continue
        value = machine.variable(name).strip()
        if value in ("", "-1"):
            hidden = f"{name} is set to {value or 'nothing'}, which hides every GPU"
            yield problem("hidden", hidden, f"unset {name}", VARIABLES)
        elif len(gpus(machine)) < 2 and value not in ("0",) and value.isdecimal():
            hidden = f"{name} is {value}, and there is one GPU, number 0"
            yield problem("hidden", hidden, f"unset {name}", VARIABLES)


def architectures(machine: Machine) -> Iterator[Complaint]:
    """Yield the GPUs of architectures that kernels are not compiled for."""
    found = sorted({gpu.arch for gpu in gpus(machine)})
    for arch in found:
        if not promised(arch):
            yield problem(
                "architecture",
                f"the GPU is a {arch}, and kernels are compiled for"
                f" {', '.join((*ARCHS, *GENERIC_ARCHS))}",
                f"take another GPU; a build on this machine tries {arch} all the same, and nobody"
                " has looked at what comes of it",
                REQUIREMENTS,
            )
    own = [arch for arch in found if arch in INTEGRATED]
    if others := [arch for arch in found if arch not in INTEGRATED] if own else []:
        yield doubt(
            "integrated",
            f"beside the {others[0]} the driver offers a {own[0]}, which is part of the processor:"
            " the runtime may end programs then",
            "switch it off in the BIOS, or set ROCR_VISIBLE_DEVICES to the other one's number",
            PREREQUISITES,
        )


def addresses(machine: Machine) -> Iterator[Complaint]:
    """Yield that addresses of several GPUs are translated, with which they may hang.

    ROCm's page, "Application hangs on Multi-GPU systems": ``iommu=pt``.
    """
    found = cards(machine)
    words = machine.text("/proc/cmdline").split()
    if len(found) < 2 or "iommu=pt" in words or all(card.passed for card in found):
        return
    yield doubt(
        "iommu",
        f"there are {len(found)} GPUs, and the IOMMU translates their addresses, with which"
        " programs on several GPUs may hang",
        "add iommu=pt to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run `sudo update-grub`"
        " and start the machine again",
        TROUBLES,
    )
