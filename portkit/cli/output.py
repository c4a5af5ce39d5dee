"""Printing: reports to standard output or a file, progress to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from portkit.errors import DiskError

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.terminal import Terminal


def show(text: str, end: str = "\n") -> None:
    """Print text with its own line endings, whatever the platform's are.

    Raises:
        BrokenPipeError: the reader went away.
        DiskError: what the output is sent to cannot take it.
    """
    show_bytes((text + end).encode(errors="backslashreplace"))


def show_bytes(data: bytes) -> None:
    """Print bytes as they are; it raises what ``show`` raises."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # Python flushes its streams once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise DiskError(
            f"the output could not be written ({error.strerror}): send it somewhere else"
        ) from None


def deliver(text: str, output: Path | None) -> None:
    """Write a report to a file, and say so, or print it without one.

    Raises:
        BrokenPipeError: the reader went away.
        DiskError: it cannot be written.
    """
    if output is None:
        show(text, end="")
        return
    try:
        output.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise DiskError(
            f"the report could not be written to {output} ({error.strerror}): name another file"
        ) from None
    progress(f"The report is {output}.")


def progress(line: str) -> None:
    """Say what is being done."""
    print(line, file=sys.stderr, flush=True)


def notice(text: str) -> None:
    """Print to standard error what is not the output itself, its line endings included."""
    sys.stderr.write(text)
    sys.stderr.flush()


def screen() -> Terminal:
    """Return the terminal behind standard output."""
    from portkit.report.terminal import terminal

    return terminal(sys.stdout)


def errors() -> Terminal:
    """Return the terminal behind standard error."""
    from portkit.report.terminal import terminal

    return terminal(sys.stderr)


def plain() -> Terminal:
    """Return a terminal for what goes to a file."""
    from portkit.report.terminal import Terminal

    return Terminal()
