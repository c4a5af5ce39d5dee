"""Printing: reports to standard output or a file, progress to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from portkit.errors import DiskError

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.terminal import Terminal


def print_text(text: str, end: str = "\n", *, verbatim: bool = False) -> None:
    """Print text with its own line endings, whatever the platform's are.

    Args:
        text: the text.
        end: what follows it.
        verbatim: print it as it is where it goes to a program; what would act on a terminal is
            never printed there.
    """
    as_it_is = verbatim and not sys.stdout.isatty()
    print_bytes(_encode(text + end) if as_it_is else escape_bytes(text + end))


def escape_bytes(text: str) -> bytes:
    """Encode text with terminal controls escaped."""
    return _encode(_escape(text))


def _encode(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def print_bytes(data: bytes) -> None:
    """Print bytes unchanged; it raises what ``print_text`` raises."""
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


def write_report(text: str, output: Path | None) -> None:
    """Write a report to a file, and say so, or print it without one."""
    if output is None:
        print_text(text, end="", verbatim=True)
        return
    from portkit.workspace.path_checks import find_link  # few commands write a report

    if (link := find_link(output)) is not None:
        raise DiskError(
            f"{link} is a link to {link.readlink()}, and nothing is written through a link of a"
            " tree: name the file itself"
        )
    try:
        output.write_bytes(_encode(text))
    except OSError as error:
        raise DiskError(
            f"the report could not be written to {output} ({error.strerror}): name another file"
        ) from None
    print_progress(f"The report is {output}.")


def print_progress(line: str) -> None:
    """Print a line about the current work."""
    print(_escape(line), file=sys.stderr, flush=True)


def print_notice(text: str) -> None:
    """Print text to standard error that is not the output itself."""
    sys.stderr.write(_escape(text))
    sys.stderr.flush()


def can_ask() -> bool:
    """Whether a person at a terminal can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """Print a question and return the answer, or an empty text at the end of the input."""
    print_notice(question)
    return sys.stdin.readline()


def _escape(text: str) -> str:
    from portkit.report.terminal import escape_controls

    return escape_controls(text, styled=True)


def open_screen() -> Terminal:
    """Return the terminal behind standard output."""
    from portkit.report.terminal import open_terminal

    return open_terminal(sys.stdout)


def open_error_terminal() -> Terminal:
    """Return the terminal behind standard error."""
    from portkit.report.terminal import open_terminal

    return open_terminal(sys.stderr)


def plain_terminal() -> Terminal:
    """Return a terminal for text in a file."""
    from portkit.report.terminal import Terminal

    return Terminal()


def is_half_written(directory: Path) -> bool:
    """Whether a killed run must be ended before the tree can be read; says so."""
    from portkit.transaction.preconditions import is_recovery_needed

    found = directory.is_dir() and is_recovery_needed(directory)
    if found:
        print_progress(
            f"{directory} may be written in part, by a portkit that was killed: `portkit apply`"
            " completes what was begun, or takes it back; then look again"
        )
    return found
