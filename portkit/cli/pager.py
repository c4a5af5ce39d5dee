"""Show long text through a pager at a terminal, as git does.

The pager is ``PORTKIT_PAGER``, else ``PAGER``, else less. It is the user's word: it is looked for
in absolute folders alone, and run outside the tree, since a pager may read settings where it stands
(delta reads the ``.git/config`` of its folder, which can name programs).
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from portkit.cli.output import escape_bytes, print_text
from portkit.workspace.programs import NOWHERE, absolute_folders, find_program

VARIABLES: Final = ("PORTKIT_PAGER", "PAGER")
"""The variables that name the pager, the first that is set counts; empty, there is none."""

_DEFAULT: Final = "less"

_SETTINGS: Final = {"LESS": "FRX", "LV": "-c"}
"""What git sets for pagers where the user has not (git-config(1), ``core.pager``): less ends where
all fits on the screen, shows colours, and leaves the screen as it is."""


def show_paged(text: str, *, wanted: bool = True) -> None:
    """Print text as it is, or through the pager where standard output is a terminal.

    Who leaves the pager early has seen enough: that is no error.
    """
    command = _find_pager(os.environ) if wanted and sys.stdout.isatty() else ()
    if not (command and _run_pager(command, escape_bytes(text))):
        print_text(text, end="", verbatim=True)


def _find_pager(environment: Mapping[str, str]) -> tuple[str, ...]:
    said = next((environment[name] for name in VARIABLES if name in environment), _DEFAULT)
    try:
        words = shlex.split(said)
    except ValueError:  # a quotation mark without its other
        return ()
    program = find_program(words[0]) if words else ""
    # A relative one would depend on where portkit is run, as in the tree.
    return (program, *words[1:]) if Path(program).is_absolute() else ()


def _run_pager(command: tuple[str, ...], data: bytes) -> bool:
    try:
        pager = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            cwd=NOWHERE,
            env={**_SETTINGS, **os.environ, "PATH": absolute_folders()},
        )
    except OSError:
        return False
    # Ctrl-C is the pager's: it takes it for "stop searching", and portkit must not leave before it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(BrokenPipeError):
            pager.communicate(data)
        pager.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True
