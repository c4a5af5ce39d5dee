"""``portkit device``: a command of the user's, on the CPU device or on AMD's emulator."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from portkit.cli.command import make_command
from portkit.cli.options import (
    EmulatorProgram,
    Gpu,
    Rocm,
    check_emulated,
    find_profile_directory,
    option,
)
from portkit.cli.output import print_progress, print_text
from portkit.report.progress import show_waiting


class Device(StrEnum):
    """A device that needs no GPU."""

    CPU = "cpu"
    EMULATOR = "emulator"


@make_command(
    "portkit device -- cargo test -p candle-core --features rocm",
    "portkit device --wave 64 -- cargo run --features rocm --example quantized",
    "portkit device --device emulator -- cargo test -p toy --features rocm",
)
def device(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The program and its arguments."),
    ] = None,
    device: Annotated[
        Device, option("--device", "The CPU device, or AMD's emulator of a GPU.")
    ] = Device.CPU,
    gpu: Gpu = "",
    emulator: EmulatorProgram = "",
    rocm: Rocm = "",
    wave: Annotated[
        int, typer.Option(metavar="LANES", help="How many lanes a wavefront has, 32 or 64.")
    ] = 32,
    check_memory: Annotated[
        bool, option("--check-memory", "Watch every access of memory.")
    ] = False,
    chaos: Annotated[
        int,
        typer.Option(
            metavar="SEED",
            min=0,
            help="Do what HIP leaves open in any way, by a number; with 0, as without this, in"
            " one way.",
            show_default=False,
        ),
    ] = 0,
    profile: Annotated[
        str,
        option(
            "--profile NAME|DIR",
            "The codebase whose build scripts are told of the device: its name, or the"
            " directory that holds its profile; by default what portkit.toml says here, else all"
            " that portkit knows.",
        ),
    ] = "",
) -> int:
    """Run a command on the CPU device, as on a machine with an AMD GPU.

    A ported tree is built and run as on a machine with an AMD GPU. Without a command the variables
    are printed that make it so, for a shell.

    With --device emulator cargo runs as ever, and starts tests and programs on the emulator; any
    other command runs there itself.
    """
    from portkit.codebases.registry import find_announced, find_shipped
    from portkit.engine.session import find_named_profile
    from portkit.profiles.profile import load_codebase
    from portkit.verify.device_choice import ARCH_OF_WAVE, list_build_variables
    from portkit.verify.emulator import FOLDER, find_emulator
    from portkit.verify.options import EMULATED
    from portkit.verify.settings import load_settings

    emulated = device is Device.EMULATOR
    check_emulated(gpu, emulator, rocm, wanted=emulated)
    if wave not in ARCH_OF_WAVE:
        raise typer.BadParameter(f"{wave} is no wavefront of AMD's: it has 32 or 64 lanes")
    if emulated and (check_memory or chaos):
        raise typer.BadParameter("--check-memory and --chaos are for the CPU device")
    arch = (gpu or EMULATED) if emulated else ARCH_OF_WAVE[wave]
    before = dict(os.environ)
    started: Sequence[str] = ()
    if emulated:
        found = find_emulator(arch, emulator, rocm)
        for note in found.notes:
            print_progress(note)
        started, after = found.command, {**before, **found.userspace.environment}
        if not words or _is_cargo(words):
            after |= _find_runner_variable(found.command)
    else:
        from portkit.device.toolkit import build_toolkit

        with show_waiting("Building the CPU device, once for each compiler,"):
            toolkit = build_toolkit()
        after = toolkit.environment(arch=arch, checked=check_memory, chaos=chaos, base=before)
    own = find_profile_directory(profile) or find_named_profile(Path())
    for directory in [own] if own else [*find_shipped().values(), *find_announced().values()]:
        after |= list_build_variables(load_settings(load_codebase(directory)), [arch])
    if not words:
        changed = sorted(name for name in after if after[name] != before.get(name))
        print_text("\n".join(f"export {name}={shlex.quote(after[name])}" for name in changed))
        return 0
    # cargo hands the programs that it starts to its runner.
    whole = words if _is_cargo(words) else [*started, *words]
    if words[0] == "hipcc" and not emulated:
        whole = [after["HIPCC"], *words[1:]]
    with tempfile.TemporaryDirectory(prefix="portkit-device-") as folder:
        return _run(whole, {**after, FOLDER: folder} if emulated else after)


def _is_cargo(words: Sequence[str]) -> bool:
    return Path(words[0]).name == "cargo"


def _find_runner_variable(command: Sequence[str]) -> dict[str, str]:
    from portkit.errors import ToolError
    from portkit.workspace.programs import query_program

    # Cargo splits it at blanks and knows no quotes (The Cargo Book, "Configuration",
    # `target.<triple>.runner`).
    if split := [word for word in command if re.search(r"\s", word)]:
        raise ToolError(
            f"cargo starts no program by {split[0]!r}, whose path has a blank: move it to a path"
            " without"
        )
    done = query_program("rustc", "--version", "--verbose")
    host = re.search(r"^host: (.+)$", done.stdout if done else "", re.MULTILINE)
    triple = host[1].upper().replace("-", "_") if host else ""
    return {f"CARGO_TARGET_{triple}_RUNNER": " ".join(command)} if triple else {}


def _run(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command and return its status as a shell has it; a signal to us ends it too."""
    from portkit.errors import ToolError
    from portkit.workspace.process import end_on_signals

    try:
        with end_on_signals():
            status = subprocess.run(words, env=environment, check=False).returncode
    except OSError as error:
        raise ToolError(
            f"{words[0]} cannot be run in {Path.cwd()} ({error.strerror}): name a program on PATH"
        ) from None
    return status if status >= 0 else 128 - status
