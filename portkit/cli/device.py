"""``portkit device``: a command of the user's, on the device that runs on the CPU."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from portkit.cli.command import command
from portkit.cli.options import profile_directory
from portkit.cli.output import show


@command(
    "portkit device -- cargo test -p candle-core --features rocm",
    "portkit device --wave 64 -- cargo run --features rocm --example quantized",
)
def device(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="The program and its arguments."),
    ] = None,
    wave: Annotated[
        int, typer.Option(metavar="LANES", help="How many lanes a wavefront has, 32 or 64.")
    ] = 32,
    check_memory: Annotated[
        bool, typer.Option("--check-memory", help="Watch every access of memory.")
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
        typer.Option(
            metavar="NAME|DIR",
            help="The codebase whose build scripts are told of the device: its name, or the"
            " directory that holds its profile; by default what portkit.toml says here, else all"
            " that portkit knows.",
            show_default=False,
        ),
    ] = "",
) -> int:
    """Run a command on a HIP device that runs on the CPU.

    A ported tree is built and run as on a machine with an AMD GPU. Without a command the variables
    are printed that make it so, for a shell.
    """
    from portkit.codebases.known import announced, brought
    from portkit.device.toolkit import build_toolkit
    from portkit.errors import ToolError
    from portkit.profile.profile import load_codebase
    from portkit.scan.session import named_profile
    from portkit.verify.device_choice import ARCH_OF_WAVE, for_cpu_device
    from portkit.verify.settings import load_settings

    if wave not in ARCH_OF_WAVE:
        raise typer.BadParameter(f"{wave} is no wavefront of AMD's: it has 32 or 64 lanes")
    arch = ARCH_OF_WAVE[wave]
    own = profile_directory(profile) or named_profile(Path())
    codebases = [own] if own else [*brought().values(), *announced().values()]
    before = dict(os.environ)
    after = build_toolkit().environment(arch=arch, checked=check_memory, chaos=chaos, base=before)
    for directory in codebases:
        after |= for_cpu_device(load_settings(load_codebase(directory)), [arch])
    if not words:
        changed = sorted(name for name in after if after[name] != before.get(name))
        show("\n".join(f"export {name}={shlex.quote(after[name])}" for name in changed))
        return 0
    try:
        status = subprocess.run(words, env=after, check=False).returncode
    except OSError as error:
        raise ToolError(
            f"{words[0]} cannot be run in {Path.cwd()} ({error.strerror}): name a program on PATH"
        ) from None
    return status if status >= 0 else 128 - status
