"""The command line: arguments, exit codes and printing, nothing else.

One file holds the commands of one subject. What a command needs is imported when it runs, since
each run pays for what is imported here.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from portkit import __version__
from portkit.cli import compare, device, doctor, explain, kernels, port, trial, verify
from portkit.cli.output import show

COMMANDS: Final = (
    port.fetch,
    port.scan,
    port.apply,
    verify.verify,
    device.device,
    doctor.doctor,
    trial.trial,
    compare.diff,
    kernels.hipify,
    kernels.map_names,
    explain.explain,
    explain.rules,
)
"""The commands, as the help lists them."""


def program(asked: str = "") -> typer.Typer:
    """Return the program.

    Args:
        asked: the only command that it needs to have, since making each of them takes time; one
            with all commands where there is no such command.
    """
    made = typer.Typer(
        name="portkit",
        help="Ports a Rust GPU codebase from CUDA to AMD ROCm.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_portkit)
    for command in [c for c in COMMANDS if c.name == asked] or COMMANDS:
        command.add_to(made)
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        from portkit.tree.tools import tools

        show(f"portkit {__version__}")
        for tool in tools():
            found = f"{tool.version or 'of an unknown version'} ({tool.path})"
            show(f"{tool.name} {found if tool.path else 'not found'}")
        raise typer.Exit


def _portkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, and those of the programs that portkit works with.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    pass


app = program()
