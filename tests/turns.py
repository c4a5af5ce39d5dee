"""Whose turn it is: what is too long for every run of CI, one day this and the next day that."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

Case = TypeVar("Case")

DAY: Final = "PORTKIT_TEST_DAY"
"""The variable with the ordinal of the day, which a run's workers have from its first process."""

ROUND: Final = (
    ("convolutions", "bare machines"),
    ("defects upstream", "CPU tests"),
    ("findings on GPUs",),
    ("graphs", "the workspace without rocm"),
)
"""Tests of minutes that take turns: what runs each day; five to ten minutes of a worker's."""

LONGEST: Final = (
    *("products", "types"),
    *("tests/real/test_hip_crate.py", "tests/real/test_kernels.py"),
    *("tests/fuzz/test_mutants.py", "tests/rules/test_every_rule.py"),
    *("tests/real/test_series_of_candle.py", "tests/real/test_verify_workflow.py"),
    *("tests/real/test_taken_back.py", "tests/real/test_shared_kernels.py"),
    *("tests/device/test_device_chaos.py", "tests/hostile/test_hostile_sizes.py"),
)
"""The groups of tests that take longest, which begin first: the longest of all first."""


def today() -> int:
    """Return the ordinal of the day on which the run began, which its workers are told."""
    return int(os.environ.setdefault(DAY, str(datetime.now(UTC).toordinal())))


def turn(cases: Sequence[Case], each_day: int, day: int | None = None) -> list[Case]:
    """Return the cases whose turn it is; every case has one before any has two.

    Args:
        cases: all of them; each is a slow test, too.
        each_day: how many CI takes a day.
        day: its ordinal; today by default.
    """
    first = each_day * (today() if day is None else day)
    return [cases[(first + i) % len(cases)] for i in range(each_day)]


def by_turn(name: str) -> pytest.MarkDecorator:
    """Return the mark of tests that CI runs on the days of their turn; `make test-all` always does.

    Args:
        name: one of ``ROUND``.
    """
    (names_of_today,) = turn(ROUND, 1)
    assert any(name in names for names in ROUND), name
    return pytest.mark.real if name in names_of_today else pytest.mark.slow
