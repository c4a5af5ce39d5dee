"""Two processes that do one job together.

The parser holds the interpreter's lock, so threads do not help; a forked process does. Both run the
same function. Each does its share of the work, and where it needs to know what the other has found
it asks for it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedRWPair
from typing import Any, TypeVar

from portkit.syntax.value import Value

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_IT = 500_000
"""Below this many bytes of source the work takes less time than the second process."""
_TICKETS = 2048
_TICKET_SIZE = 2
"""Bytes of a ticket; a pipe takes all tickets without a reader (one page, ``man 7 pipe``)."""


class PartnerLostError(Exception):
    """The second process is gone."""


class Team(Value, frozen=True):
    """The processes of a job, as one of them sees it."""

    first: bool = True
    # A stream to and from the other process; none where there is no other.
    partner: BufferedRWPair | None = None
    tickets: int = -1  # A pipe that holds each number below ``_TICKETS`` once, for both processes.

    def share(self, items: Iterable[Item], weight: Callable[[Item], int]) -> list[Item]:
        """Return the items that are this process's."""
        if self.partner is None:
            return list(items)
        mine: list[Item] = []
        ahead = 0
        for item in sorted(items, key=weight, reverse=True):
            first = ahead <= 0
            ahead += weight(item) if first else -weight(item)
            if first == self.first:
                mine.append(item)
        return mine

    def draw(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items that the other process has not drawn yet; once in a job.

        Args:
            items: all items, the same in both processes, those that take long first.
        """
        if self.partner is None:
            yield from items
            return
        while ticket := os.read(self.tickets, _TICKET_SIZE):
            number = int.from_bytes(ticket, "big")
            if number >= len(items):
                return
            yield from items[number::_TICKETS]

    def gather(self, value: Result) -> list[Result]:
        """Return the ``value`` of each process, that of the first one first."""
        # One reads while the other writes: a pipe holds little.
        if self.first:
            self._send(value)
            return [value, *self._received()]
        gathered = [*self._received(), value]
        self._send(value)
        return gathered

    def collect(self, value: Result) -> list[Result]:
        """Return the ``value`` of each process; the second process gets only its own."""
        if self.first:
            return [value, *self._received()]
        self._send(value)
        return [value]

    def _send(self, value: object) -> None:
        if self.partner is None:
            return
        try:
            pickle.dump(value, self.partner, pickle.HIGHEST_PROTOCOL)
            self.partner.flush()
        except OSError as error:
            raise PartnerLostError from error

    def _received(self) -> list[Any]:
        if self.partner is None:
            return []
        try:
            return [pickle.load(self.partner)]
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise PartnerLostError from error


def run_in_two_processes(work: Callable[[Team], Result], weight: int) -> Result:
    """Run ``work`` in a second process too if that pays; return the result.

    A second process that fails costs time and nothing else: the work is done again without one.
    """
    # Only on Linux, and never beside other threads: a forked interpreter is not safe elsewhere.
    alone = sys.platform != "linux" or threading.active_count() > 1
    if alone or (os.cpu_count() or 1) < 2 or weight < WORTH_IT:
        return work(Team())
    ours, theirs = socket.socketpair()
    tickets = _make_tickets()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            with _open_channel(theirs) as partner:
                work(Team(first=False, partner=partner, tickets=tickets))
        finally:
            # No clean-up of the first process's objects and streams from here. A failure shows by
            # the closed channel.
            os._exit(0)
    theirs.close()
    try:
        with _open_channel(ours) as partner:
            return work(Team(first=True, partner=partner, tickets=tickets))
    except PartnerLostError:
        return work(Team())
    finally:
        os.close(tickets)
        os.waitpid(child, 0)


def _make_tickets() -> int:
    reading, writing = os.pipe()
    numbers = (number.to_bytes(_TICKET_SIZE, "big") for number in range(_TICKETS))
    os.write(writing, b"".join(numbers))
    os.close(writing)
    return reading


@contextlib.contextmanager
def _open_channel(end: socket.socket) -> Iterator[BufferedRWPair]:
    """Open one end of a pair of sockets as a stream, and close both."""
    channel = end.makefile("rwb")
    try:
        yield channel
    finally:
        # What is still to be written has no reader any more.
        with contextlib.suppress(OSError):
            channel.close()
        end.close()
