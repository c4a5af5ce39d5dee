"""Programs that run side by side and end with us.

Ctrl-C reaches the programs that a terminal shares with us, but not those that a thread starts a
moment later, nor does SIGTERM reach any: without this, an interrupted run would wait for minutes.
"""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

Item = TypeVar("Item")
Result = TypeVar("Result")


class StoppedError(Exception):
    """The run has ended; nothing more is started."""


class Programs:
    """Programs that are started by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(
        self, command: Sequence[str | Path], folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        with self._started(command, folder) as process:
            out, error = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, error)

    def stop(self) -> None:
        """End every program, and start no other."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

    @contextmanager
    def _started(
        self, command: Sequence[str | Path], folder: Path | None
    ) -> Iterator[subprocess.Popen[str]]:
        with self._lock:
            if self._stopped:
                raise StoppedError
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            self._running.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._running.discard(process)


def run_parallel(
    work: Callable[[Item, Programs], Result], items: Iterable[Item], jobs: int | None = None
) -> list[Result]:
    """Do the same work with every item, in threads of their own.

    ``work``: gets an item, and runs programs with the other argument.
    """
    programs = Programs()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            made = [pool.submit(work, item, programs) for item in items]
            return [each.result() for each in made]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            programs.stop()
            raise
