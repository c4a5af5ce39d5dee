"""The line for whoever waits."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from portkit.report.progress import PATIENCE, show_waiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    """Return what reads a pseudo-terminal, and the stream that writes to it."""
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as stream:
        yield reader, stream
    os.close(reader)


def said(reader: int) -> str:
    """Return what has been written; a terminal passes it on when it comes to it."""
    text = b""
    while select.select([reader], [], [], 0.3)[0]:
        text += os.read(reader, 1 << 16)
    return text.decode()


def test_nothing_is_said_of_what_is_quick(terminal: tuple[int, TextIO]) -> None:
    reader, stream = terminal
    with show_waiting("Working", stream):
        time.sleep(0.05)
    assert said(reader) == ""


def test_what_takes_long_is_said_and_goes(terminal: tuple[int, TextIO]) -> None:
    reader, stream = terminal
    before = signal.getsignal(signal.SIGALRM)
    with show_waiting("Working", stream):
        # A call that a signal interrupts goes on (PEP 475), and so does a child.
        time.sleep(PATIENCE / 2)
        done = subprocess.run(["sleep", str(PATIENCE)], check=False)
    assert done.returncode == 0
    text = said(reader)
    assert text.startswith("\r\x1b[KWorking 1 s")
    assert text.endswith("\r\x1b[K")
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_it_goes_when_the_work_fails(terminal: tuple[int, TextIO]) -> None:
    reader, stream = terminal
    with pytest.raises(KeyError), show_waiting("Working", stream):
        time.sleep(PATIENCE + 0.2)
        raise KeyError
    assert said(reader).endswith("\r\x1b[K")


def test_nothing_is_said_where_nobody_sees_it(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, stream = terminal
    monkeypatch.setenv("TERM", "dumb")
    with show_waiting("Working", stream):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    read, write = os.pipe()
    with os.fdopen(write, "w") as pipe, show_waiting("Working", pipe):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    os.close(read)
    assert said(reader) == ""


def test_a_child_does_not_say_it_again(terminal: tuple[int, TextIO]) -> None:
    """As fork(2) has it, a child's timers are clear: a scan's second process stays quiet."""
    _, stream = terminal
    with show_waiting("Working", stream):
        child = os.fork()
        if child == 0:
            os._exit(signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_handler_is_the_one_before(terminal: tuple[int, TextIO]) -> None:
    _, stream = terminal

    def own(*_: object) -> None:
        return None

    before = signal.signal(signal.SIGALRM, own)
    try:
        with show_waiting("Working", stream):
            assert signal.getsignal(signal.SIGALRM) is not own
        assert signal.getsignal(signal.SIGALRM) is own
    finally:
        signal.signal(signal.SIGALRM, before)
