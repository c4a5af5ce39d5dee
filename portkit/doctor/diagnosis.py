"""What a look at a machine gives: facts and complaints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.doctor.access import check_access
from portkit.doctor.complaints import Level
from portkit.doctor.driver import check_driver, is_container
from portkit.doctor.gpus import find_cards, find_gpus, is_emulated
from portkit.doctor.libraries import check_libraries, check_rocblas_kernels, check_versions
from portkit.doctor.rocm_components import NAMES, find_compiler, find_library
from portkit.doctor.runtime_settings import (
    HIDING_VARIABLES,
    OVERRIDE_VARIABLE,
    check_address_translation,
    check_architectures,
    check_variables,
    read_overrides,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.doctor.complaints import Complaint
    from portkit.doctor.machine import Machine

CHECKS: Final = (
    check_driver,
    check_access,
    check_architectures,
    check_variables,
    check_libraries,
    check_versions,
    check_rocblas_kernels,
    check_address_translation,
)
"""What is looked at, in the order in which it is mended."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a look at a machine gives."""

    facts: Mapping[str, str]  # what was found, by its name; nothing in it names a person
    complaints: tuple[Complaint, ...]  # what is missing, problems first

    @property
    def problems(self) -> int:
        """How many complaints keep a port from running."""
        return sum(complaint.level is Level.PROBLEM for complaint in self.complaints)


def diagnose(machine: Machine) -> Diagnosis:
    """Return what a machine is and what it lacks."""
    said = [complaint for check in CHECKS for complaint in check(machine)]
    said.sort(key=lambda complaint: complaint.level is not Level.PROBLEM)
    return Diagnosis(dict(_collect_facts(machine)), tuple(said))


def _collect_facts(machine: Machine) -> Iterator[tuple[str, str]]:
    release = re.search(r'(?m)^PRETTY_NAME="?([^"\n]*)', machine.text("/etc/os-release"))
    yield "system", release[1] if release else "unknown"
    yield "kernel", machine.text("/proc/sys/kernel/osrelease") or "unknown"
    if is_container(machine):
        yield "container", "yes"
    own = machine.text("/sys/module/amdgpu/version")
    found = "in the kernel" if machine.has("/sys/module/amdgpu") else "not loaded"
    yield "driver amdgpu", own or found
    yield "GPUs on the bus", str(len(find_cards(machine)))
    told = read_overrides(machine)
    offered = [
        f"{g.arch} as {told[g.node]}" if g.node in told else g.arch for g in find_gpus(machine)
    ]
    emulated = " (AMD's emulator)" if is_emulated(machine) else ""
    yield "GPUs for computing", f"{', '.join(offered) or 'none'}{emulated}"
    for name in (*sorted(NAMES), "hipcc"):
        place = find_compiler(machine) if name == "hipcc" else find_library(machine, name)
        version = f", ROCm {place.version[0]}.{place.version[1]}" if place and place.version else ""
        yield name, f"{place.path}{version}" if place else "not found"
    for name in sorted(machine.environment):
        if name in HIDING_VARIABLES or name.startswith(OVERRIDE_VARIABLE):
            yield name, machine.environment[name]
