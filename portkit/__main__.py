"""The process around the commands: ``portkit``, or ``python -m portkit``."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import Final, NoReturn

_INTERRUPTED: Final = 130
"""`portkit.cli.command.INTERRUPTED`, which may not be read yet."""
_CLOSED_PIPE: Final = 141
"""`portkit.cli.command.CLOSED_PIPE`, likewise."""


def main() -> NoReturn:
    """Run the command that the arguments name, and end the process with its exit code."""
    # A run holds nearly all that it makes until it ends. The collector's passes would take a tenth
    # of the time and free nothing, and so would taking everything down object by object.
    gc.disable()
    _open_streams()
    code = 0
    try:
        from portkit.cli import load_program

        load_program(*sys.argv[1:2])()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
        # That of the help, which is no command, is told so by the library that prints it.
        if isinstance(end.__context__, BrokenPipeError):
            code = _CLOSED_PIPE
    except KeyboardInterrupt:
        # Before a command runs, which says so itself: as it is read and its options are.
        code = _INTERRUPTED
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("error: interrupted\n")
    except Exception as error:
        from portkit.cli.command import report_error

        code = report_error(error)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_streams() -> None:
    """Let what the caller has closed be empty, or take anything, as Rust's programs have it.

    Python has None in place of such a stream, and the next file that is opened has its number.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


if __name__ == "__main__":
    main()
