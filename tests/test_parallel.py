"""Half of the work in a second process gives what one process gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from portkit import parallel

if TYPE_CHECKING:
    from collections.abc import Sequence


def squares(numbers: Sequence[int]) -> list[int]:
    return [n * n for n in numbers]


def weight(number: int) -> int:
    return parallel.WORTH_IT + number


def test_the_results_are_those_of_one_process() -> None:
    assert sorted(parallel.halves(squares, range(9), weight)) == squares(range(9))


def test_little_work_stays_in_one_process() -> None:
    assert parallel.halves(lambda items: [os.getpid() for _ in items], [1, 2], lambda _: 1) == [
        os.getpid(),
        os.getpid(),
    ]


def test_a_second_process_that_dies_costs_nothing_but_time() -> None:
    parent = os.getpid()

    def work(numbers: Sequence[int]) -> list[int]:
        if os.getpid() != parent:
            os._exit(9)
        return squares(numbers)

    assert sorted(parallel.halves(work, range(9), weight)) == squares(range(9))


def test_an_error_in_the_first_process_leaves_no_second_one() -> None:
    parent = os.getpid()

    def work(numbers: Sequence[int]) -> list[int]:
        if os.getpid() == parent:
            raise ValueError
        return squares(numbers)

    with pytest.raises(ValueError):
        parallel.halves(work, range(9), weight)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
