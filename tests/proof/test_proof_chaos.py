"""Runs under seeds: what is asked for, what is kept, and the page."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from portkit.device.toolkit import count_devices
from portkit.errors import VerificationError
from tools.proof.chaos import Seeded, load, page, parse_seeds

if TYPE_CHECKING:
    from pathlib import Path

    from portkit.verify.verified_tree import VerifiedTree

SETTINGS = SimpleNamespace(tested=("toy-core", "toy-nn"))
TREE = cast("VerifiedTree", SimpleNamespace(title="toy 1.2.3", settings=SETTINGS))
ROW = Seeded("tests", 32, 1, 12, (), 3.4, "2026-01-31", "abc", "toy 1.2.3", 2, "toy-core")


@pytest.mark.parametrize(
    ("text", "seeds"), [("7", [7]), ("1-3,5", [1, 2, 3, 5]), ("5, 4-5,2", [2, 4, 5])]
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "0-3", "a", "1-", "-1", "1,,2"])
def test_what_names_no_seed(text: str) -> None:
    with pytest.raises(VerificationError, match=r"names no seeds: write some such as 1-20"):
        parse_seeds(text)


def test_there_are_two_to_eight_devices_under_a_seed() -> None:
    assert count_devices(0) == 1
    assert {count_devices(seed) for seed in range(1, 21)} == set(range(2, 9))


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert load(results) == []
    rows = [ROW, replace(ROW, lost=("a failed", "b failed"))]
    results.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    assert load(results) == rows


def test_the_page_tells_what_failed_and_what_was_not_run() -> None:
    found = [
        *(replace(ROW, seed=seed, seconds=float(seed)) for seed in (1, 2, 4)),
        replace(ROW, wave=64, seed=2, lost=("a failed",)),
        replace(ROW, part="bindings", crates="", seed=3, count=4, date="2026-02-01", processors=16),
        replace(ROW, seed=9, lost=("of a seed that nobody asks for",)),
    ]
    text = page(TREE, found, range(1, 5))
    assert "Taken on 2026-01-31 and 2026-02-01 with toy 1.2.3, on the CPU device abc." in text
    assert "1 of 5 runs fail. Machines had 2 or 16 processors" in text
    assert "| the ported tests of toy-core | 32 | 1-2, 4 | 12 | 0 | 1 to 4 |" in text
    assert "| the ported tests of toy-core | 64 | 2 | 12 | 1 | 3 to 3 |" in text
    assert "| a failed | 2 (wave 64) |" in text
    assert "- the ported tests of toy-core, wave 32: seeds 3\n" in text
    assert "- the bindings' tests, wave 32: seeds 1-2, 4\n" in text
    assert "- the ported tests of toy-nn, wave 64: seeds 1-4\n" in text
    assert "nobody asks for" not in text
