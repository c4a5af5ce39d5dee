"""The process around the commands: ``portkit``, or ``python -m portkit``."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import Final, NoReturn

_INTERRUPTED: Final = 130
"""`portkit.cli.command.INTERRUPTED`, which may not be read yet."""


def main() -> NoReturn:
    """Run the command that the arguments name, and end the process with its exit code."""
    # A run holds nearly all that it makes until it ends. The collector's passes would take a tenth
    # of the time and free nothing, and so would taking everything down object by object.
    gc.disable()
    code = 0
    try:
        from portkit.cli import program

        program(*sys.argv[1:2])()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        # Before a command runs, which says so itself: as it is read and its options are.
        code = _INTERRUPTED
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("error: interrupted\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
