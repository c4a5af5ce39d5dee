"""What takes turns."""

from __future__ import annotations

import re
from pathlib import Path

from turns import LONGEST, ROUND, turn

TESTS = Path(__file__).parent


def test_each_has_a_turn_before_any_has_two() -> None:
    days = [turn(ROUND, 1, day) for day in range(739_000, 739_000 + len(ROUND))]
    assert sorted(names for (names,) in days) == sorted(ROUND)


def test_tests_have_each_of_the_turns() -> None:
    told = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r'by_turn\("([^"]*)"\)', path.read_text())
    }
    assert told == {name for names in ROUND for name in names}


def test_the_longest_groups_exist() -> None:
    names = (TESTS / "real" / "port_of_candle.py").read_text()
    for group in LONGEST:
        assert (TESTS.parent / group).is_file() or f'= "{group}"' in names, group
