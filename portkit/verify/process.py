"""Running what takes minutes: its output is shown as it comes, and nothing of it outlives us."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from portkit.errors import ToolError
from portkit.tree.tools import find_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

_GRACE: Final = 5.0
"""Seconds between asking a group of processes to end and ending it."""
_LINGER: Final = 1.0
"""Seconds that what a program has left running may still write after its end."""
_TICK: Final = 0.2
"""Seconds between two looks at whether a program has ended."""

# Ends the group of processes $1 when standard input is closed without a word: the writing end is
# ours, and the system closes it however we end, SIGKILL included.
_GUARD: Final = 'read -r word || kill -s KILL -- "-$1"'


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended.

    Attributes:
        status: its exit status; negative for a signal.
        lines: what it wrote to its standard output and standard error, in the order it came.
        output: those of its standard output alone.
        silent: whether it was ended since it wrote nothing for too long.
    """

    status: int
    lines: tuple[str, ...]
    output: tuple[str, ...] = ()
    silent: bool = False


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    show: Callable[[str], None],
    patience: float | None = None,
    memory: int | None = None,
    within: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> Finished:
    """Run a command to its end, with no terminal, and show each line that it writes.

    The command leads a process group of its own. Whatever ends the wait ends the whole group: its
    end, an interruption from the keyboard, and also our own death by SIGKILL.

    Args:
        command: the program, by its name on PATH or its path, and its arguments.
        folder: where it runs.
        environment: all of its environment variables.
        show: is given each line, without its end.
        patience: seconds without a line after which it is ended; for ever by default.
        memory: bytes of private memory that each of its processes may have; any by default.
        within: makes of the command, whose program is a path then, one that runs it in a sandbox.

    Raises:
        ToolError: the program is not there.
    """
    program = find_program(command[0], environment.get("PATH"))
    if not program:
        raise ToolError(f"{command[0]} is not on PATH: install it, or add its folder to PATH")
    whole = [*within((program, *command[1:]))]
    if memory is not None and os.name == "posix":
        # RLIMIT_DATA counts private writable memory since Linux 4.7 (getrlimit(2)); sh counts KiB.
        limited = 'ulimit -d "$0" 2>/dev/null; exec "$@"'
        whole = ["/bin/sh", "-c", limited, str(memory // 1024), *whole]
    try:
        process = subprocess.Popen(
            whole,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{program} cannot be run in {folder} ({error.strerror}): mend that first"
        ) from None
    with _guarded(process):
        try:
            return _followed(process, show, patience)
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


def _followed(
    process: subprocess.Popen[bytes], show: Callable[[str], None], patience: float | None
) -> Finished:
    """Read what a process writes until it ends, or until it is silent for too long."""
    lines: list[str] = []
    output: list[str] = []
    with selectors.DefaultSelector() as selector:
        readers = [_Reader(stream) for stream in (process.stdout, process.stderr) if stream]
        for reader in readers:
            selector.register(reader.stream, selectors.EVENT_READ, reader)
        heard = time.monotonic()
        ended: float | None = None
        silent = False
        while selector.get_map():
            for key, _ in selector.select(_TICK):
                found, more = key.data.read()
                for line in found:
                    lines.append(line)
                    if key.data is readers[0]:
                        output.append(line)
                    show(line)
                    heard = time.monotonic()
                if not more:
                    selector.unregister(key.fileobj)
            if ended is None and process.poll() is not None:
                ended = time.monotonic()
            now = time.monotonic()
            if ended is not None and now - ended > _LINGER:
                break  # something in the background keeps the pipe open
            if ended is None and patience is not None and now - heard > patience:
                silent = True
                break
    if not silent:
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            silent = True
    if silent:
        _end(process)
    return Finished(process.returncode, tuple(lines), tuple(output), silent)


class _Reader:
    """Turns what comes through a pipe into lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self._rest = b""

    def read(self) -> tuple[list[str], bool]:
        """Return the lines that are complete, and whether there may be more."""
        data = self.stream.read(1 << 16)
        if not data:
            rest, self._rest = self._rest, b""
            return ([rest.decode(errors="replace")] if rest else []), False
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in whole], True


@contextlib.contextmanager
def _guarded(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have the group of a process ended, should we be killed meanwhile."""
    if os.name != "posix":
        yield
        return
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", str(process.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            guard.communicate(b"done\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group of a process, also where the process itself has ended."""
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
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
