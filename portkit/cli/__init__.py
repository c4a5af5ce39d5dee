"""The command line: arguments, exit codes and printing, nothing else.

One file holds the commands of one subject. A run imports the file of the command that it is about,
and what a command needs is imported when it runs, since each run pays for what is imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from portkit import __version__

if TYPE_CHECKING:
    from click import HelpFormatter, UsageError

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
_USAGE_ERROR: Final[type[UsageError]] = typer.BadParameter.__mro__[1]
"""Typer's base of errors in the arguments; the module that has it depends on typer's version."""
USAGE: Final = 2
"""The exit code of an error in the arguments."""


def find_command(name: str) -> Command:
    """Return a command."""
    from portkit.cli.command import Command

    module = import_module(f"{__name__}.{COMMANDS[name]}")
    made = (each for each in vars(module).values() if isinstance(each, Command))
    return next(each for each in made if each.name == name)


class _Program(TyperGroup):
    """The program: its help has whole sentences, and an error of usage is one sentence."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program as typer does, but print an error of usage without the usage."""
        if not (args or extra.get("args") or sys.argv[1:]):
            return super().main(*args, **extra)  # the help
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except _USAGE_ERROR as error:
            from portkit.cli.command import complain

            code = complain(_render_usage_error(error), USAGE)
        except typer.Abort:
            code = 1
        if not extra.get("standalone_mode", True):
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the commands, each with what it does."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=sys.maxsize))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def load_program(asked: str = "") -> typer.Typer:
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
        find_command(name).add_to(made)
    return made


def _render_usage_error(error: UsageError) -> str:
    """Return what is wrong: our own sentence alone, or typer's with the way to the help."""
    param = getattr(error, "param", None) or getattr(error, "param_hint", None)
    if isinstance(error, typer.BadParameter) and param is None:
        return error.message
    help_of = error.ctx.command_path if error.ctx is not None else "portkit"
    return f"{error.format_message().rstrip('.')} (`{help_of} -h` lists the options)"


def _print_version(wanted: bool) -> None:
    if wanted:
        from portkit.cli.build_info import read_commit
        from portkit.cli.output import print_text
        from portkit.workspace.programs import find_tools

        built = read_commit()
        print_text(f"portkit {__version__}" + (f" ({built})" if built else ""))
        for tool in find_tools():
            found = f"{tool.version or 'of an unknown version'} ({tool.path})"
            print_text(f"{tool.name} {found if tool.path else 'not found'}")
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
