"""Which device the ported tests run on: an AMD GPU, AMD's emulator of one, the CPU device."""

from __future__ import annotations

import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder
from portkit.device.toolkit import build_toolkit, compute_toolkit_key, count_devices
from portkit.doctor.gpus import DRIVER, find_gpus
from portkit.doctor.machine import Machine
from portkit.errors import ToolError, VerificationError
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc
from portkit.verify.emulator import FOLDER, find_emulator
from portkit.verify.options import EMULATOR
from portkit.verify.step_runner import skip_step
from portkit.verify.test_binaries import describe_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from portkit.verify.settings import Settings
    from portkit.verify.step_runner import Outcome
    from portkit.verify.verified_tree import VerifiedTree

ARCH_OF_WAVE: Final = {32: "gfx1100", 64: "gfx90a"}
"""As which GPU the CPU device answers."""

STREAMS_OF_WAVE: Final = {32: "eager", 64: "lazy"}
"""When the CPU device does the work of a stream: at once, or when something waits for it. HIP
allows both, so each of the two runs takes another one."""

MEMORY: Final = 4096
"""MiB of memory that the CPU device has for tests: one that asks for more fails."""


# In a process of its own: a driver that hangs or crashes does so there.
_NONE: Final = 4
_FIND_GPU: Final = f"""\
import ctypes, os, sys
folder = os.environ.get("ROCM_PATH", "")
places = [os.path.join(folder, "lib", ""), ""] if folder else [""]
for name in [p + "libamdhip64.so" + v for v in (".7", ".6", "") for p in places]:
    try:
        hip = ctypes.CDLL(name)
    except OSError:
        continue
    count = ctypes.c_int()
    if hip.hipGetDeviceCount(ctypes.byref(count)) != 0 or count.value < 1:
        sys.exit({_NONE})
    break
else:
    sys.exit(3)
"""

_FOUND: Final = "HIP finds a GPU"
# Fills memory, which a kernel of the runtime does: an emulator may have a GPU's description, and be
# built without its instructions.
_RUN_KERNEL: Final = f"""{_FIND_GPU}
print("{_FOUND}", flush=True)
size = ctypes.c_size_t(64)
place = ctypes.c_void_p()
found = (ctypes.c_ubyte * 64)()
status = (
    hip.hipMalloc(ctypes.byref(place), size)
    or hip.hipMemset(place, 7, size)
    or hip.hipMemcpy(found, place, size, 2)
)
print(f"status {{status}}, {{found[63]}} of 7")
sys.exit(0 if status == 0 and set(found) == {{7}} else 5)
"""


@dataclass(frozen=True, slots=True)
class DeviceRun:
    """The tests once through.

    Attributes:
        on: what they run on, such as ``gfx1100, wave 32``.
        command: what starts a program on an emulated GPU, before its path; none for another device.
    """

    on: str
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """The device.

    Attributes:
        environment: what cargo is given to build for it.
        runs: the tests, once for each way in which the device can be tried.
        reserved: bytes of address space that a process on it takes without using them.
        reason: why it is no GPU; empty where it is one, or where the user wants none.
        notes: what was found on this machine for it, a sentence each.
    """

    title: str
    simulated: bool
    environment: Mapping[str, str]
    runs: tuple[DeviceRun, ...]
    reserved: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()


def choose_device(tree: VerifiedTree) -> ChosenDevice | Outcome:
    """Return the device, built if need be, or the outcome of a step that can have none."""
    if tree.options.device == EMULATOR:
        try:
            return start_emulated_gpu(tree)
        except (ToolError, HipToolError) as error:
            return skip_step(str(error))
    gpus, reason = find_gpu_architectures(tree)
    if reason and tree.options.device == "gpu":
        return skip_step(reason)
    if gpus:
        return ChosenDevice("the AMD GPU", False, tree.settings.device, (DeviceRun(gpus),))
    try:
        return build_cpu_device(tree, reason)
    except ToolError as error:
        return skip_step(str(error))


def find_gpu_architectures(tree: VerifiedTree) -> tuple[str, str]:
    """Return the architectures of the GPUs to use, else why there are none.

    A choice of the user has no reason; the checker and what a seed decides are the CPU device's.
    """
    if tree.options.device == "cpu" or tree.options.checked or tree.options.chaos:
        return "", ""
    reason = explain_missing_gpu(tree)
    if reason:
        return "", reason
    return _list_driver_architectures() or "unknown", ""


def explain_missing_gpu(tree: VerifiedTree, driver: Path = Path(DRIVER)) -> str:
    """Return why no AMD GPU can be used; empty if one can."""
    if not driver.exists():
        return f"there is no AMD GPU: {driver} is not there"
    status = tree.run_silently(sys.executable, "-c", _FIND_GPU).status
    if status == 3:
        return "the HIP runtime (libamdhip64.so) cannot be loaded: install ROCm or set ROCM_PATH"
    if status != 0:
        return f"the HIP runtime finds no GPU: give this user access to {driver}"
    try:
        find_hipcc()
    except HipToolError as error:
        return str(error)
    return ""


def start_emulated_gpu(tree: VerifiedTree) -> ChosenDevice:
    """Run a kernel on the emulated GPU, and return that GPU."""
    options = tree.options
    emulator = find_emulator(options.gpu, options.emulator, options.rocm)
    variables = emulator.userspace.environment
    if not emulator.userspace.has_compiler:
        find_hipcc()
    for note in emulator.notes:
        tree.say(note)
    # The Python of portkit may lie in the part of the system that a root file system replaces.
    python = "/usr/bin/python3" if emulator.userspace.enter else sys.executable
    with tempfile.TemporaryDirectory(prefix="portkit-device-") as folder:
        tried = tree.run_silently(
            *(*emulator.command, python, "-c", _RUN_KERNEL),
            environment={**variables, FOLDER: folder},
        )
    if tried.status != 0:
        lines = [line for line in tried.lines if line != _FOUND]
        said = "; ".join((describe_end(tried), *lines[-1:]))
        again = shlex.join((*emulator.command, "PROGRAM"))
        if _FOUND in tried.lines:
            raise ToolError(
                f"{emulator.program} runs no kernel for {emulator.gpu} ({said}): build it with this"
                f" GPU, or name another with --gpu; `{again}` runs a HIP program of yours"
            )
        unknown = f"; this HIP may be older than {emulator.gpu}" if tried.status == _NONE else ""
        raise ToolError(
            f"HIP finds no GPU on the emulator ({said}{unknown}): run a HIP program with `{again}`"
            " first"
        )
    building = {**list_build_variables(tree.settings, [emulator.gpu]), **variables}
    run = DeviceRun(emulator.gpu, variables, emulator.command)
    return ChosenDevice("AMD's emulator", False, building, (run,), notes=emulator.notes)


def build_cpu_device(tree: VerifiedTree, reason: str = "") -> ChosenDevice:
    """Return the CPU device, built if need be."""
    tree.say("building the CPU device, unless it is there")
    toolkit = build_toolkit()
    options = tree.options
    kept = ("LD_LIBRARY_PATH", "PORTKIT_DEVICE_COUNT")
    base = {name: tree.environment[name] for name in kept if name in tree.environment}
    archs = {wave: ARCH_OF_WAVE[wave] for wave in options.waves}

    def environment(arch: str, streams: str = "eager") -> dict[str, str]:
        return {
            "PORTKIT_DEVICE_STREAMS": tree.environment.get("PORTKIT_DEVICE_STREAMS", streams),
            **toolkit.environment(
                arch=arch, checked=options.checked, chaos=options.chaos, base=base
            ),
            "PORTKIT_DEVICE_MEMORY": str(MEMORY),
        }

    seed = f", seed {options.chaos}" if options.chaos else ""
    building = {**environment(""), **list_build_variables(tree.settings, archs.values())}
    runs = tuple(
        DeviceRun(f"{arch}, wave {wave}{seed}", environment(arch, STREAMS_OF_WAVE[wave]))
        for wave, arch in archs.items()
    )
    # Shadow memory (src/check/shadow.cpp): 33 bytes for each of the device's.
    reserved = count_devices(options.chaos) * (MEMORY << 20) * (40 if options.checked else 1)
    return ChosenDevice("the CPU device", True, building, runs, reserved, reason)


def list_build_variables(settings: Settings, archs: Iterable[str]) -> dict[str, str]:
    """Return the variables of build scripts that build for a CPU device or an emulated GPU."""
    values = {"archs": ",".join(sorted(archs)), "cache": str(cache_folder() / "device-objects")}
    own = {name: value.format_map(values) for name, value in settings.cpu_device.items()}
    return {**settings.device, **own}


def list_device_inputs(tree: VerifiedTree) -> tuple[str, ...]:
    """Return everything that decides the outcome of a step; a GPU has inputs that are unknown."""
    if tree.options.device == EMULATOR:
        raise VerificationError("what AMD's emulator gives is not remembered")
    gpus, reason = find_gpu_architectures(tree)
    if gpus:
        raise VerificationError("what a GPU gives is not remembered")
    return (reason, *list_cpu_device_inputs(tree))


def list_cpu_device_inputs(tree: VerifiedTree) -> tuple[str, ...]:
    """Return everything that decides a test's result on the CPU device, without building it."""
    own = sorted(f"{k}={v}" for k, v in tree.environment.items() if k.startswith("PORTKIT_DEVICE_"))
    options = tree.options
    runs = (f"{wave} {STREAMS_OF_WAVE[wave]}" for wave in options.waves)
    return (compute_toolkit_key(), str(options.checked), str(options.chaos), *runs, *own)


def _list_driver_architectures() -> str:
    """Return the architectures of the GPUs that the kernel's driver knows, with commas between."""
    return ", ".join(gpu.arch for gpu in find_gpus(Machine.here()))
