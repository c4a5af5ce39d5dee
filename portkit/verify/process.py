"""Running what takes minutes: its output is shown as it comes, and nothing of it outlives us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

_GRACE: Final = 5.0
"""Seconds between asking a group of processes to end and ending it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended.

    Attributes:
        status: its exit status; negative for a signal.
        lines: what it wrote to its standard output and standard error, in the order it came.
    """

    status: int
    lines: tuple[str, ...]


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    show: Callable[[str], None],
) -> Finished:
    """Run a command to its end, with no terminal, and show each line that it writes.

    The command leads a process group of its own. Whatever ends the wait, an interruption from the
    keyboard included, ends the whole group.

    Args:
        command: the program, by its name on PATH, and its arguments.
        folder: where it runs.
        environment: all of its environment variables.
        show: is given each line, without its end.

    Raises:
        ToolError: the program is not there.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{command[0]} cannot be run ({error.strerror}): install it and put it on PATH"
        ) from None
    lines: list[str] = []
    try:
        assert process.stdout is not None  # it is a pipe
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            show(lines[-1])
        return Finished(process.wait(), tuple(lines))
    finally:
        _end(process)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does, with its processes.

    Raises:
        SystemExit: with 128 and the signal's number, as shells have it, when one comes.
    """

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signals = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signals.append(signal.SIGHUP)  # else nohup keeps us alive on purpose
    before = {number: signal.signal(number, leave) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group of a process, also where the process itself has ended."""
    if process.stdout is not None:
        process.stdout.close()
    try:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    finally:  # a second Ctrl-C cuts the wait short, not this
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(group: int, number: int) -> None:
    """Send a signal to a process group, if there is anybody left in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
