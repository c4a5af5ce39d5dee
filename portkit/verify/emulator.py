"""AMD's emulator of its GPUs (rocjitsu): where it is, which GPUs it has, which ROCm it runs with.

It executes a GPU's instructions on the processor and answers as the kernel's driver does, so that
AMD's own runtime and libraries run on it. portkit neither brings nor builds it. These are files of
its installation (``docs/rocjitsu-cli.md`` and ``docs/configuration.md`` of its sources)::

    bin/rocjitsu                        starts a program on an emulated GPU
    share/rocjitsu/configs/NAME.json    describes a GPU
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portkit.doctor import rocm_components
from portkit.doctor.gpus import parse_arch
from portkit.doctor.machine import Machine
from portkit.errors import ToolError
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc
from portkit.workspace.programs import find_program

PROGRAM: Final = "rocjitsu"
VARIABLE: Final = "PORTKIT_EMULATOR"
"""Names the program, where no option does."""
ROCM_VARIABLE: Final = "ROCM_PATH"
"""Names the ROCm, where no option does; hipcc and the bindings read it too."""
FOLDER: Final = "ROCJITSU_RUNTIME_DIR"
"""Tells the emulator where it may write; two runs in one folder would read each other's files."""
_CPU_DEVICE: Final = "PORTKIT_DEVICE_ARCH"
_CONFIGS: Final = "share/rocjitsu/configs"
_PUBLISHED: Final = "AMD publishes it in https://github.com/ROCm/rocm-systems, emulation/rocjitsu"
_LIBRARIES: Final = "install ROCm, or run ci/toolchain --libraries in a checkout of portkit"
_ARCH: Final = re.compile(r"[-_](gfx[0-9a-f]+)(?![0-9a-z])")


@dataclass(frozen=True, slots=True)
class Userspace:
    """A ROCm that programs run with.

    Attributes:
        enter: the program that runs another one in its root file system; none for this system's.
        installation: the folder that the user names; empty for what the system finds by itself.
    """

    machine: Machine
    enter: Path | None = None
    installation: str = ""

    def __str__(self) -> str:
        if self.enter:
            return f"{self.machine.root} ({self.enter})"
        return self.installation or "this system"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which programs find it."""
        return {ROCM_VARIABLE: self.installation} if self.installation else {}

    @property
    def has_compiler(self) -> bool:
        """Whether builds that read its variables find hipcc; a root file system has its own."""
        return not self.enter and rocm_components.find_compiler(self.machine) is not None

    @property
    def has_runtime(self) -> bool:
        """Whether it holds the HIP runtime."""
        found = rocm_components.find_library(self.machine, "amdhip64")
        inside = f"{self.machine.resolved(self.installation)}/" if self.installation else "/"
        entered = self.enter is None or self.enter.is_file()
        return entered and found is not None and found.path.startswith(inside)


@dataclass(frozen=True, slots=True)
class Emulator:
    """An emulated GPU, with a ROCm for it.

    Attributes:
        gpu: such as ``gfx1100``.
        notes: what was found, and what a port would miss, a sentence each.
    """

    gpu: str
    program: Path
    config: Path
    userspace: Userspace
    notes: tuple[str, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """The command that runs a program on the GPU; the program and its arguments follow."""
        enter = self.userspace.enter
        before = (str(enter),) if enter else ()
        return (*before, str(self.program), "--config", str(self.config), "--")


def find_emulator(
    gpu: str, named: str = "", rocm_folder: str = "", machine: Machine | None = None
) -> Emulator:
    """Find the emulator, the GPU among those that it has, and a ROCm to run with."""
    machine = machine or Machine.here()
    if machine.variable(_CPU_DEVICE):
        raise ToolError(
            f"this shell is set up for the CPU device ({_CPU_DEVICE}), whose libraries would"
            " replace AMD's: use another shell, without the variables that `portkit device` printed"
        )
    program = _find_program(named, machine)
    config = _find_config(program, gpu)
    userspace = _find_userspace(machine, rocm_folder)
    notes = (f"the emulator is {program} with {config.name}", *_describe_rocm(userspace, gpu))
    return Emulator(gpu, program, config, userspace, notes)


def _find_program(named: str, machine: Machine) -> Path:
    """Return the emulator's program: the user's, the variable's, the one on ``PATH``."""
    named = named or machine.variable(VARIABLE)
    found = find_program(named or PROGRAM, machine.variable("PATH"))
    if not found and named:
        raise ToolError(
            f"{named} is not a program: set --emulator or {VARIABLE} to the path of {PROGRAM}"
        )
    if not found:
        raise ToolError(
            f"AMD's emulator ({PROGRAM}) is not on PATH: {_PUBLISHED}; install it, or name it with"
            f" --emulator or {VARIABLE}"
        )
    return Path(found).resolve()


def _find_config(program: Path, gpu: str) -> Path:
    folder = program.parent.parent / _CONFIGS
    found = _list_configs(folder)
    if not found:
        raise ToolError(
            f"{program} has no descriptions of GPUs in {folder}: install it with its own"
            " `cmake --install`"
        )
    if gpu not in found:
        raise ToolError(
            f"{program} has no {gpu}, but {', '.join(sorted(found))}: name one of these with --gpu"
        )
    return found[gpu]


def _list_configs(folder: Path) -> dict[str, Path]:
    """Return the descriptions of one GPU each, by its architecture.

    HIP finds a GPU by its render node, so a description that names one comes first.
    """
    found: dict[str, Path] = {}
    nodes: set[str] = set()
    for path in sorted(folder.glob("*.json")):
        gpu = _read_gpu(path)
        device = gpu.get("device")
        if not isinstance(device, dict) or gpu.get("num_gpus", 1) != 1:
            continue
        version = device.get("gfx_target_version")
        if not isinstance(version, int):
            continue
        arch, node = parse_arch(version), "drm_render_minor" in device
        if arch not in found or (node and arch not in nodes):
            found[arch] = path
        if node:
            nodes.add(arch)
    return found


def _read_gpu(path: Path) -> dict[str, Any]:
    """Return the GPU that a file describes; nothing where it describes none."""
    try:
        gpu = json.loads(path.read_text(encoding="utf-8"))["vm"]["gpu"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return gpu if isinstance(gpu, dict) else {}


def _find_userspace(machine: Machine, named: str) -> Userspace:
    """Return the named ROCm, else that of the file system that hipcc runs in, else the system's."""
    if named := named or machine.variable(ROCM_VARIABLE):
        folder = str(Path(named).absolute())
        variables = {**machine.environment, ROCM_VARIABLE: folder}
        installed = Userspace(Machine(machine.root, variables), installation=folder)
        for each in (_enter_root(Path(folder)), installed):
            if each.has_runtime:
                return each
        raise ToolError(
            f"{named} has no HIP runtime (libamdhip64.so): name an installation of ROCm, or a"
            f" folder that ci/toolchain --libraries made, with --rocm or {ROCM_VARIABLE}"
        )
    with contextlib.suppress(HipToolError):
        made = _enter_root(find_hipcc().resolve().parent.parent)
        if made.has_runtime:
            return made
    if (system := Userspace(machine)).has_runtime:
        return system
    raise ToolError(f"no HIP runtime (libamdhip64.so) is found for the emulator: {_LIBRARIES}")


def _enter_root(folder: Path) -> Userspace:
    """Return the ROCm of a folder as ``ci/toolchain`` makes it, whether it is there or not."""
    return Userspace(Machine(folder / "root"), folder / "enter")


def _describe_rocm(userspace: Userspace, gpu: str) -> Iterator[str]:
    """Yield which ROCm is used, and which of its libraries do nothing for a GPU."""
    machine = userspace.machine
    hip = rocm_components.find_library(machine, "amdhip64")
    version = ".".join(map(str, hip.version)) if hip and hip.version else "of unknown version"
    yield f"HIP {version} is that of {userspace}"
    missing = [
        name
        for name in rocm_components.NAMES
        if name not in rocm_components.FEATURE_LIBRARIES
        and not rocm_components.find_library(machine, name)
    ]
    if missing:
        yield f"it lacks {', '.join(missing)}, and tests that need them fail: {_LIBRARIES}"
    blas = rocm_components.find_library(machine, "rocblas")
    archs = _list_archs(machine.place(blas.path).parent / "rocblas") if blas else []
    if blas and gpu not in archs:
        yield (
            f"its rocBLAS has no kernels for {gpu}, but for {', '.join(archs) or 'no GPU'}: tests"
            " that multiply matrices fail"
        )


def _list_archs(folder: Path) -> list[str]:
    names = (path.name for path in folder.rglob("*") if path.is_file())
    return sorted({match[1] for name in names for match in _ARCH.finditer(name)})
