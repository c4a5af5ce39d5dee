"""What tells the runtime other than the truth: variables, architectures, kernel parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaints import (
    PREREQUISITES,
    REQUIREMENTS,
    TROUBLES,
    VARIABLES,
    Complaint,
    make_problem,
    make_warning,
)
from portkit.doctor.gpus import INTEGRATED, find_cards, find_gpus
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS, is_supported_arch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

OVERRIDE_VARIABLE: Final = "HSA_OVERRIDE_GFX_VERSION"
_THUNK: Final = "https://github.com/ROCm/ROCR-Runtime/blob/amd-staging/libhsakmt/src/topology.c"
HIDING_VARIABLES: Final = (
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)
"""Variables that say which GPUs a program sees ("ROCm environment variables", GPU isolation)."""


def read_overrides(machine: Machine) -> dict[int, str]:
    """Return what the runtime takes each GPU for, by its node, where a variable says so.

    ``HSA_OVERRIDE_GFX_VERSION_2=10.3.0`` is for node 2, the variable without a number for all
    (libhsakmt, ``topology.c``); the numbers are major, minor and stepping.
    """
    found = {}
    for gpu in find_gpus(machine):
        said = machine.variable(f"{OVERRIDE_VARIABLE}_{gpu.node}") or machine.variable(
            OVERRIDE_VARIABLE
        )
        if version := _parse_version(said):
            found[gpu.node] = version
    return found


def _parse_version(text: str) -> str:
    """Return the architecture that ``10.3.0`` stands for; empty where the text is no version."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    return f"gfx{int(match[1])}{int(match[2]):x}{int(match[3]):x}" if match else ""


def check_variables(machine: Machine) -> Iterator[Complaint]:
    """Yield the variables that change what a program takes the GPUs for, or hide them."""
    if machine.variable("PORTKIT_DEVICE_ARCH"):
        yield make_problem(
            "cpu-device",
            "the environment is that of the CPU device, on which programs run in place of the GPU",
            "take another shell, without what `portkit device` printed",
            "docs/device.md",
        )
    for name in sorted(machine.environment):
        if re.fullmatch(rf"{OVERRIDE_VARIABLE}(_\d+)?", name) and not _parse_version(
            machine.variable(name)
        ):
            yield make_problem(
                "override",
                f"{name} is {machine.variable(name)!r}, which is no version, and the runtime ends",
                "unset it",
                _THUNK,
            )
    for gpu in find_gpus(machine):
        told = read_overrides(machine).get(gpu.node, gpu.arch)
        if told == gpu.arch:
            continue
        # Build scripts read the driver's own word, unless a variable of the codebase names others
        # (crates/build/src/kernels/compiler.rs).
        asked = [v for name, v in machine.environment.items() if name.endswith("_ROCM_ARCHS")]
        complaint = (
            make_warning if any(told in value.split(",") for value in asked) else make_problem
        )
        yield complaint(
            "override",
            f"{OVERRIDE_VARIABLE} has the runtime take the {gpu.arch} for a {told}, for which a"
            " build on"
            " this machine compiles no kernels",
            f"unset it; or name {told} to the build, in the codebase's variable that ends in"
            " _ROCM_ARCHS, and trust no result",
            _THUNK,
        )
    for name in HIDING_VARIABLES:
        if name not in machine.environment:
            continue
        value = machine.variable(name).strip()
        if value in ("", "-1"):
            hidden = f"{name} is set to {value or 'nothing'}, which hides every GPU"
            yield make_problem("hidden", hidden, f"unset {name}", VARIABLES)
        elif len(find_gpus(machine)) < 2 and value not in ("0",) and value.isdecimal():
            hidden = f"{name} is {value}, and there is one GPU, number 0"
            yield make_problem("hidden", hidden, f"unset {name}", VARIABLES)


def check_architectures(machine: Machine) -> Iterator[Complaint]:
    """Yield the GPUs of architectures that kernels are not compiled for."""
    found = sorted({gpu.arch for gpu in find_gpus(machine)})
    for arch in found:
        if not is_supported_arch(arch):
            yield make_problem(
                "architecture",
                f"the GPU is a {arch}, and kernels are compiled for"
                f" {', '.join((*ARCHS, *GENERIC_ARCHS))}",
                f"take another GPU; a build on this machine tries {arch} all the same, and nobody"
                " has looked at what comes of it",
                REQUIREMENTS,
            )
    own = [arch for arch in found if arch in INTEGRATED]
    if others := [arch for arch in found if arch not in INTEGRATED] if own else []:
        yield make_warning(
            "integrated",
            f"beside the {others[0]} the driver offers a {own[0]}, which is part of the processor:"
            " the runtime may end programs then",
            "switch it off in the BIOS, or set ROCR_VISIBLE_DEVICES to the other one's number",
            PREREQUISITES,
        )


def check_address_translation(machine: Machine) -> Iterator[Complaint]:
    """Yield that addresses of several GPUs are translated, with which they may hang.

    ROCm's page, "Application hangs on Multi-GPU systems": ``iommu=pt``.
    """
    found = find_cards(machine)
    words = machine.text("/proc/cmdline").split()
    if len(found) < 2 or "iommu=pt" in words or all(card.passed for card in found):
        return
    yield make_warning(
        "iommu",
        f"there are {len(found)} GPUs, and the IOMMU translates their addresses, with which"
        " programs on several GPUs may hang",
        "add iommu=pt to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run `sudo update-grub`"
        " and start the machine again",
        TROUBLES,
    )
