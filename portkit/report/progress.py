"""Show a line with the current work and its time, after one second.

The line is drawn by a timer's signal, so that what is waited for need not know of it, and no thread
stands in the way of a fork. It is drawn on a terminal alone, and goes when the work is done.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

PATIENCE: Final = 1.0
"""How long nothing is said, in seconds."""
_EVERY: Final = 0.2
# Erase in Line, ECMA-48 section 8.3.41.
_ERASE: Final = "\r\x1b[K"


@contextmanager
def show_waiting(what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show what portkit is doing until the context ends."""
    out = stream or sys.stderr
    if not _is_shown(out):
        yield
        return
    started, descriptor, said = time.monotonic(), out.fileno(), False

    def say(*_: object) -> None:
        nonlocal said
        said = True
        # Not through the stream, which the signal may have interrupted in the middle of a write.
        with contextlib.suppress(OSError):
            os.write(descriptor, f"{_ERASE}{what} {time.monotonic() - started:.0f} s".encode())

    before = signal.signal(signal.SIGALRM, say)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, _EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if said:
            with contextlib.suppress(OSError):
                os.write(descriptor, _ERASE.encode())


def _is_shown(stream: TextIO) -> bool:
    # Python runs the handlers of signals in its main thread.
    return (
        stream.isatty()
        and os.environ.get("TERM") != "dumb"
        and threading.current_thread() is threading.main_thread()
    )
