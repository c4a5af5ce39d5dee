"""What tells the runtime other than the truth: variables, architectures, kernel parameters."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from portkit.doctor.complaints import Complaint, Level, make_complaint
from portkit.doctor.gpus import INTEGRATED, find_cards, find_gpus
from portkit.hipify.archs import ARCHS, GENERIC_ARCHS, is_supported_arch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.machine import Machine

OVERRIDE_VARIABLE: Final = "HSA_OVERRIDE_GFX_VERSION"
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
        yield make_complaint("cpu-device")
    for name in sorted(machine.environment):
        if re.fullmatch(rf"{OVERRIDE_VARIABLE}(_\d+)?", name) and not _parse_version(
            machine.variable(name)
        ):
            yield make_complaint("override-invalid", variable=name, value=machine.variable(name))
    for gpu in find_gpus(machine):
        told = read_overrides(machine).get(gpu.node, gpu.arch)
        if told == gpu.arch:
            continue
        # Build scripts read the driver's own word, unless a variable of the codebase names others
        # (crates/build/src/kernels/compiler.rs).
        asked = [v for name, v in machine.environment.items() if name.endswith("_ROCM_ARCHS")]
        known = any(told in value.split(",") for value in asked)
        level = Level.DOUBT if known else Level.PROBLEM
        yield replace(make_complaint("override", arch=gpu.arch, told=told), level=level)
    for name in HIDING_VARIABLES:
        if name not in machine.environment:
            continue
        value = machine.variable(name).strip()
        if value in ("", "-1"):
            hidden = f"{name} is set to {value or 'nothing'}, which hides every GPU"
            yield make_complaint("hidden", fact=hidden, variable=name)
        elif len(find_gpus(machine)) < 2 and value not in ("0",) and value.isdecimal():
            hidden = f"{name} is {value}, and there is one GPU, number 0"
            yield make_complaint("hidden", fact=hidden, variable=name)


def check_architectures(machine: Machine) -> Iterator[Complaint]:
    """Yield the GPUs of architectures that kernels are not compiled for."""
    found = sorted({gpu.arch for gpu in find_gpus(machine)})
    for arch in found:
        if not is_supported_arch(arch):
            yield make_complaint(
                "architecture", arch=arch, archs=", ".join((*ARCHS, *GENERIC_ARCHS))
            )
    own = [arch for arch in found if arch in INTEGRATED]
    if others := [arch for arch in found if arch not in INTEGRATED] if own else []:
        yield make_complaint("integrated", arch=others[0], integrated=own[0])


def check_address_translation(machine: Machine) -> Iterator[Complaint]:
    """Yield that addresses of several GPUs are translated, with which they may hang.

    ROCm's page, "Application hangs on Multi-GPU systems": ``iommu=pt``.
    """
    found = find_cards(machine)
    words = machine.text("/proc/cmdline").split()
    if len(found) < 2 or "iommu=pt" in words or all(card.passed for card in found):
        return
    yield make_complaint("iommu", count=len(found))
