"""The command line: arguments, exit codes and printing, nothing else.

One file holds the commands of one subject. A run imports the file of the command that it is about,
and what a command needs is imported when it runs, since each run pays for what is imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.core import TyperGroup

from portkit import __version__

if TYPE_CHECKING:
    from click import HelpFormatter

    from portkit.cli.command import Command

COMMANDS: Final = {
    "fetch": "port",
    "scan": "port",
    "init": "init",
    "apply": "port",
    "review": "review",
    "branch": "update",
    "update": "update",
    "repairs": "repairs",
    "verify": "verify",
    "pull-request": "pull_request",
    "device": "device",
    "doctor": "doctor",
    "trial": "trial",
    "diff": "compare",
    "hipify": "kernels",
    "map": "kernels",
    "explain": "explain",
    "rules": "explain",
    "lsp": "lsp",
}
"""The file of each command, in the order of the help."""


def named(name: str) -> Command:
    """Return a command.

    Args:
        name: one of ``COMMANDS``.
    """
    from portkit.cli.command import Command

    module = import_module(f"{__name__}.{COMMANDS[name]}")
    made = (each for each in vars(module).values() if isinstance(each, Command))
    return next(each for each in made if each.name == name)


class _Program(TyperGroup):
    """The program, whose help has the whole sentence of each command and not its beginning."""

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the commands, each with what it does."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=sys.maxsize))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def program(asked: str = "") -> typer.Typer:
    """Return the program.

    Args:
        asked: the only command that it needs to have, since making each of them takes time; one
            with all commands where there is no such command.
    """
    made = typer.Typer(
        name="portkit",
        cls=_Program,
        help="Ports a Rust GPU codebase from CUDA to AMD ROCm.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_portkit)
    for name in [asked] if asked in COMMANDS else COMMANDS:
        named(name).add_to(made)
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        from portkit.cli.built import commit
        from portkit.cli.output import show
        from portkit.tree.tools import tools

        built = commit()
        show(f"portkit {__version__}" + (f" ({built})" if built else ""))
        for tool in tools():
            found = f"{tool.version or 'of an unknown version'} ({tool.path})"
            show(f"{tool.name} {found if tool.path else 'not found'}")
        raise typer.Exit


def _portkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, the commit it was built from, and the programs it works with.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    pass
