"""Printing: reports to standard output or a file, progress to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from portkit.errors import DiskError

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.report.terminal import Terminal


def show(text: str, end: str = "\n", *, verbatim: bool = False) -> None:
    """Print text with its own line endings, whatever the platform's are.

    Args:
        text: the text.
        end: what follows it.
        verbatim: print it as it is where it goes to a program; what would act on a terminal is
            never printed there.

    Raises:
        BrokenPipeError: the reader went away.
        DiskError: what the output is sent to cannot take it.
    """
    as_it_is = verbatim and not sys.stdout.isatty()
    show_bytes(_encoded(text + end) if as_it_is else visible_bytes(text + end))


def visible_bytes(text: str) -> bytes:
    """Return text as it may go to a terminal: what would act on it is shown."""
    return _encoded(_visible(text))


def _encoded(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


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
        show(text, end="", verbatim=True)
        return
    from portkit.tree.links import find_link  # few commands write a report

    if (link := find_link(output)) is not None:
        raise DiskError(
            f"{link} is a link to {link.readlink()}, and nothing is written through a link of a"
            " tree: name the file itself"
        )
    try:
        output.write_bytes(_encoded(text))
    except OSError as error:
        raise DiskError(
            f"the report could not be written to {output} ({error.strerror}): name another file"
        ) from None
    progress(f"The report is {output}.")


def progress(line: str) -> None:
    """Say what is being done."""
    print(_visible(line), file=sys.stderr, flush=True)


def notice(text: str) -> None:
    """Print to standard error what is not the output itself, its line endings included."""
    sys.stderr.write(_visible(text))
    sys.stderr.flush()


def _visible(text: str) -> str:
    from portkit.report.terminal import visible

    return visible(text, styled=True)


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


def is_half_written(directory: Path) -> bool:
    """Whether a killed run must be ended before a tree can be looked at; says so.

    Raises:
        PortkitError: as ``portkit.write.refusals.is_left``.
    """
    from portkit.write.refusals import is_left

    found = directory.is_dir() and is_left(directory)
    if found:
        progress(
            f"{directory} may be written in part, by a portkit that was killed: `portkit apply`"
            " completes what was begun, or takes it back; then look again"
        )
    return found
