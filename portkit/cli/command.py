"""What a command is: a function with an exit code, whose errors are one sentence each."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Final, ParamSpec

import typer
from typer.core import TyperCommand

from portkit.errors import DiskError, PortkitError, format_error
from portkit.syntax.value import Value

FOUND: Final = 1
"""The exit code of a command that found what a script may want to stop at."""
DEFECT: Final = 70
"""The exit code of a failure that is portkit's own (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: 128 and SIGINT's number, as shells have it."""
CLOSED_PIPE: Final = 141
"""The exit code when the reader of the output went away: 128 and SIGPIPE's number."""

_SURROUNDINGS: Final = frozenset(
    {errno.EACCES, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EPERM}
    | {errno.EROFS, errno.EDQUOT, errno.ESTALE}
)
"""What the system answers where a disk or a machine fails, wherever it is asked (errno(3))."""

P = ParamSpec("P")


class Command(Value, frozen=True):
    """A command of the program.

    Attributes:
        run: reads the arguments and ends the program with an exit code.
    """

    name: str
    run: Callable[..., None]
    examples: tuple[str, ...]
    kind: type[TyperCommand]

    def add_to(self, app: typer.Typer) -> None:
        """Make the command one of the program's."""
        # The line with the backspace keeps the lines below it from being wrapped.
        epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in self.examples)])
        app.command(self.name, cls=self.kind, epilog=epilog)(self.run)


def make_command(
    *examples: str, name: str = "", kind: type[TyperCommand] = TyperCommand
) -> Callable[[Callable[P, int | None]], Command]:
    """Return a decorator that makes a command of a function that returns an exit code."""

    def decorate(run: Callable[P, int | None]) -> Command:
        @functools.wraps(run)
        def run_command(*args: P.args, **kwargs: P.kwargs) -> None:
            raise typer.Exit(_choose_exit_code(lambda: run(*args, **kwargs)))

        return Command(name or run.__name__, run_command, examples, kind)

    return decorate


def _choose_exit_code(run: Callable[[], int | None]) -> int:
    try:
        return run() or 0
    except (typer.Exit, typer.BadParameter):
        raise
    except (Exception, KeyboardInterrupt) as error:
        return report_error(error)


def report_error(error: Exception | KeyboardInterrupt) -> int:
    """Say in one sentence what has ended a run, and return the exit code."""
    if isinstance(error, PortkitError):
        return complain(str(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return complain("interrupted", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    if isinstance(error, OSError) and error.errno in _SURROUNDINGS:
        where = error.filename or "a file"
        return complain(
            f"the system refuses {where} ({error.strerror}): mend that and run portkit again",
            DiskError.exit_code,
        )
    if os.environ.get("PORTKIT_TRACEBACK"):
        traceback.print_exception(error)
    said = format_error(error)
    return complain(
        f"this is a defect of portkit, please report it ({said}); with PORTKIT_TRACEBACK=1 in"
        " the environment portkit shows where it happened",
        DEFECT,
    )


def complain(sentence: str, code: int) -> int:
    """Print an error, and return the exit code."""
    from portkit.report.terminal import escape_controls, open_terminal

    with contextlib.suppress(OSError):
        print(
            f"{open_terminal(sys.stderr).loud('error')}: {escape_controls(sentence)}",
            file=sys.stderr,
        )
    return code
