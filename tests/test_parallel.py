"""Two processes give what one process gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from portkit.engine import parallel

if TYPE_CHECKING:
    from portkit.engine.parallel import Team

HEAVY = parallel.WORTH_IT
NUMBERS = range(9)


def squares(team: Team) -> list[int]:
    mine = [n * n for n in team.share(NUMBERS, lambda n: n)]
    return sorted(n for share in team.collect(mine) for n in share)


def processes(team: Team) -> list[int]:
    return team.gather(os.getpid())


def test_each_item_is_done_once() -> None:
    assert parallel.run_in_two_processes(squares, HEAVY) == [n * n for n in NUMBERS]


def test_the_shares_are_of_equal_weight() -> None:
    def weights(team: Team) -> list[int]:
        return team.collect(sum(team.share(NUMBERS, lambda n: n)))

    one, other = parallel.run_in_two_processes(weights, HEAVY)
    assert one + other == sum(NUMBERS)
    assert abs(one - other) <= max(NUMBERS)


@pytest.mark.parametrize("count", [0, 9, 5000])
def test_each_item_is_drawn_once(count: int) -> None:
    def drawn(team: Team) -> list[list[int]]:
        return team.collect(list(team.draw(range(count))))

    shares = parallel.run_in_two_processes(drawn, HEAVY)
    assert len(shares) == 2
    assert sorted(n for share in shares for n in share) == list(range(count))
    assert list(parallel.Team().draw(range(count))) == list(range(count))


def test_the_faster_process_draws_more() -> None:
    def drawn(team: Team) -> list[list[int]]:
        if team.first:
            mine = list(team.draw(NUMBERS))
            team.gather(0)
        else:
            team.gather(0)  # waits until the first process is there as well
            mine = list(team.draw(NUMBERS))
        return team.collect(mine)

    assert parallel.run_in_two_processes(drawn, HEAVY) == [list(NUMBERS), []]


def test_each_process_knows_what_both_have() -> None:
    def known(team: Team) -> list[list[int]]:
        return team.collect(processes(team))

    in_first, in_second = parallel.run_in_two_processes(known, HEAVY)
    assert in_first == in_second
    assert in_first[0] == os.getpid() != in_first[1]


def test_more_than_a_pipe_holds_goes_both_ways() -> None:
    def large(team: Team) -> list[int]:
        return [len(each) for each in team.gather(bytes(10_000_000))]

    assert parallel.run_in_two_processes(large, HEAVY) == [10_000_000, 10_000_000]


def test_little_work_stays_in_one_process() -> None:
    assert parallel.run_in_two_processes(processes, HEAVY - 1) == [os.getpid()]
    assert parallel.run_in_two_processes(squares, HEAVY - 1) == [n * n for n in NUMBERS]


def test_a_second_process_that_dies_costs_nothing_but_time() -> None:
    first = os.getpid()

    def work(team: Team) -> list[int]:
        if os.getpid() != first:
            os._exit(9)
        return squares(team)

    assert parallel.run_in_two_processes(work, HEAVY) == [n * n for n in NUMBERS]


def test_an_error_in_the_first_process_leaves_no_second_one() -> None:
    first = os.getpid()

    def work(team: Team) -> list[int]:
        if os.getpid() == first:
            raise ValueError
        return squares(team)

    with pytest.raises(ValueError):
        parallel.run_in_two_processes(work, HEAVY)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
