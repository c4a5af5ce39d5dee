"""Running cargo and git."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING

from portkit.errors import ToolError
from portkit.workspace.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def run_tool(
    *command: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with no terminal, and return its status and output.

    Raises:
        ToolError: the program is not there; a failing one is for the caller to judge.
    """
    try:
        program = find_program(command[0], environment.get("PATH"))
        if not program:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return subprocess.run(
            (program, *command[1:]),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise ToolError(
            f"{command[0]} is not on PATH or cannot be run ({error.strerror}): install it"
        ) from error
