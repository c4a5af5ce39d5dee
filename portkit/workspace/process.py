"""Long-running processes: their output is shown at once, and they end with portkit."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Final

from portkit.errors import ToolError
from portkit.workspace.programs import find_program

_GRACE: Final = 5.0  # Seconds between asking a group of processes to end and ending it.
_REAPED: Final = 10.0
"""Seconds that a process which cannot be ended is waited for: one that waits in the kernel for a
GPU that hangs does not even obey SIGKILL (signal(7), uninterruptible sleep)."""
MOST: Final = 1 << 28
"""Bytes that a program may write before it counts as one that never stops."""
_LINGER: Final = 1.0  # Seconds that what a program has left running may still write after its end.
_TICK: Final = 0.2  # Seconds between two looks at whether a program has ended.

# Ends the group of processes that it is told, when standard input is closed without a further word:
# the writing end is ours, and the system closes it however we end, SIGKILL included.
_GUARD: Final = 'read -r group && { read -r word || kill -s KILL -- "-$group"; }'
# Begins each command: the guard knows of it before it runs. Standard input is what the guard reads.
_TOLD: Final = 'echo "$$" >&0 && exec "$@" </dev/null'


@dataclass(frozen=True, slots=True)
class FinishedProcess:
    """A command that has ended."""

    status: int
    # What it wrote to its standard output and standard error, in the order it came.
    lines: tuple[str, ...]
    output: tuple[str, ...] = ()
    silent: bool = False  # Whether it was ended since it wrote nothing for too long.
    late: bool = False  # Whether it was ended since it took too long, whatever it wrote.
    flooding: bool = False


def run_process(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    show: Callable[[str], None],
    patience: float | None = None,
    limit: float | None = None,
    most: int = MOST,
    memory: int | None = None,
    within: Callable[[Sequence[str]], Sequence[str]] = tuple,
) -> FinishedProcess:
    """Run a command to its end, with no terminal, and show each line that it writes.

    The command leads a process group of its own. Whatever ends the wait ends the whole group: its
    end, an interruption from the keyboard, and also our own death by SIGKILL.

    Args:
        command: the program, by its name on PATH or its path, and its arguments.
        patience: seconds without a line after which it is ended; for ever by default.
        limit: seconds after which it is ended, whatever it writes; for ever by default.
        memory: bytes of private memory that each of its processes may have; any by default.
        within: makes of the command, whose program is a path then, one that runs it in a sandbox.
    """
    program = find_program(command[0], environment.get("PATH"))
    if not program:
        raise ToolError(f"{command[0]} is not on PATH: install it, or add its folder to PATH")
    whole = [*within((program, *command[1:]))]
    if memory is not None and os.name == "posix":
        # RLIMIT_DATA counts private writable memory since Linux 4.7 (getrlimit(2)); sh counts KiB.
        limited = 'ulimit -d "$0" 2>/dev/null; exec "$@"'
        whole = ["/bin/sh", "-c", limited, str(memory // 1024), *whole]
    with _guard_process() as guard:
        if guard is not None:
            whole = ["/bin/sh", "-c", _TOLD, "sh", *whole]
        try:
            process = subprocess.Popen(
                whole,
                cwd=folder,
                env=environment,
                stdin=guard or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(
                f"{program} cannot be run in {folder} ({error.strerror}): mend that first"
            ) from None
        try:
            return _follow_output(process, show, _Limits(patience, limit, most))
        finally:
            _end(process)


@contextlib.contextmanager
def end_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does, with its processes."""

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


@dataclass(frozen=True, slots=True)
class _Limits:
    """When a process is ended: seconds of silence, seconds in all, bytes of output."""

    patience: float | None
    limit: float | None
    most: int

    def passed(self, silence: float, seconds: float, written: int) -> str:
        """Return the name of the limit that is passed, or an empty string."""
        if self.patience is not None and silence > self.patience:
            return "silent"
        if self.limit is not None and seconds > self.limit:
            return "late"
        return "flooding" if written > self.most else ""


def _follow_output(
    process: subprocess.Popen[bytes], show: Callable[[str], None], limits: _Limits
) -> FinishedProcess:
    """Read the output of a process until it ends or exceeds a limit."""
    lines: list[str] = []
    output: list[str] = []
    passed = ""
    begun = heard = time.monotonic()
    with selectors.DefaultSelector() as selector:
        readers = [_Reader(stream) for stream in (process.stdout, process.stderr) if stream]
        for reader in readers:
            selector.register(reader.stream, selectors.EVENT_READ, reader)
        ended: float | None = None
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
            written = sum(reader.written for reader in readers)
            if ended is None and (passed := limits.passed(now - heard, now - begun, written)):
                break
    while not passed:  # it has closed its output, and may go on
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TICK)
            break
        now = time.monotonic()
        passed = limits.passed(now - heard, now - begun, 0)
    if passed:
        _end(process)
    status = process.returncode if process.returncode is not None else -signal.SIGKILL
    return FinishedProcess(
        status, tuple(lines), tuple(output), **({passed: True} if passed else {})
    )


class _Reader:
    """Splits the output of a pipe into lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.written = 0
        self._rest = b""

    def read(self) -> tuple[list[str], bool]:
        """Return the lines that are complete, and whether there may be more."""
        data = self.stream.read(1 << 16)
        self.written += len(data)
        if not data:
            rest, self._rest = self._rest, b""
            return ([rest.decode(errors="replace")] if rest else []), False
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in whole], True


@contextlib.contextmanager
def _guard_process() -> Iterator[IO[bytes] | None]:
    """Start a guard that ends a process group if portkit is killed; yield its input.

    It is the process that says so, and not we: it may run before we know its number.
    """
    if os.name != "posix":
        yield None
        return
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    word = b""
    try:
        yield guard.stdin
        word = b"done\n"
    finally:  # without the word it ends what an interruption has left
        with contextlib.suppress(OSError):
            guard.communicate(word)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole group of a process, even if the process itself has ended."""
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    finally:  # a second Ctrl-C cuts the wait short, not this
        _signal(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_REAPED)


def _signal(group: int, number: int) -> None:
    """Send a signal to a process group that may be empty."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
