"""Two halves of the same work at the same time.

The parser holds the interpreter's lock, so threads do not help; a forked process does. It starts in
a millisecond, since it shares what the parent has read, and sends its results back through a pipe.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_IT = 500_000
"""Below this weight the work takes less time than the second process."""


def halves(
    work: Callable[[Sequence[Item]], list[Result]],
    items: Sequence[Item],
    weight: Callable[[Item], int],
) -> list[Result]:
    """Return ``work`` of all items, half of it done by a forked process where that pays.

    Args:
        work: from items to results; results must be picklable.
        items: the items; results come in no particular order.
        weight: how long an item takes, in bytes of source.
    """
    mine: list[Item] = []
    others: list[Item] = []
    balance = 0
    for item in sorted(items, key=weight, reverse=True):
        (mine if balance <= 0 else others).append(item)
        balance += weight(item) if balance <= 0 else -weight(item)
    total = sum(map(weight, items))
    # Only on Linux, and never beside other threads: a forked interpreter is not safe elsewhere.
    alone = sys.platform == "linux" and threading.active_count() == 1
    if not alone or (os.cpu_count() or 1) < 2 or total < WORTH_IT:
        return work(items)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _child(work, others, reader, writer)
    os.close(writer)
    try:
        done = work(mine)
        with os.fdopen(reader, "rb") as pipe:
            sent = pipe.read()
    finally:
        _, status = os.waitpid(child, 0)
    # A second process that failed, for want of memory or by a signal, costs time and nothing else.
    return done + (pickle.loads(sent) if status == 0 else work(others))


def _child(
    work: Callable[[Sequence[Item]], list[Result]],
    items: Sequence[Item],
    reader: int,
    writer: int,
) -> None:
    status = 1
    try:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(work(items), pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # No clean-up of the parent's objects and streams from here.
        os._exit(status)
