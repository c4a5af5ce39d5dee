"""Comments that keep a place, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from steps_support import steps
from tree_support import crate, scan_of

from portkit.engine import exclusions
from portkit.profiles.settings import NAME, parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.workspace import exclusion_comments

if TYPE_CHECKING:
    from portkit.engine.scan import Scan

ABOVE = "        // portkit: exclude PK301 reason {i}\n        D::Cuda(x{i}) => {i},\n"
STACKED = "        // portkit: exclude PK301 reason {i}\n"


def scanned(lines: str, count: int) -> Scan:
    arms = "".join(lines.replace("{i}", str(i)) for i in range(count))
    last = "        D::Cuda(_) => 1,\n        _ => 0,\n"
    return scan_of(crate(f"fn f(d: &D) -> u8 {{\n    match d {{\n{arms}{last}    }}\n}}\n"))


def with_exceptions(scan: Scan) -> Scan:
    return exclusions.apply_exclusions(scan, parse_settings(SourceFile(NAME, b"")))


@pytest.mark.parametrize("lines", [ABOVE, STACKED], ids=["above each place", "above one place"])
def test_twice_the_comments_take_twice_the_steps(lines: str) -> None:
    few, many = (scanned(lines, count) for count in (100, 200))
    taken, twice = (
        steps(lambda: with_exceptions(scan), exclusions, exclusion_comments)  # noqa: B023 - run at once
        for scan in (few, many)
    )
    assert 100 < taken < twice < 2.2 * taken


def test_the_first_comment_above_a_place_gives_the_reason_and_none_is_unused() -> None:
    kept = [f for f in with_exceptions(scanned(STACKED, 3)).findings if f.excluded]
    assert [f.message for f in kept] == ["reason 0"]
    assert all(f.code != "PK903" for f in with_exceptions(scanned(STACKED, 3)).findings)


def test_each_comment_keeps_its_own_place() -> None:
    kept = [f for f in with_exceptions(scanned(ABOVE, 3)).findings if f.excluded]
    assert [f.message for f in kept] == ["reason 0", "reason 1", "reason 2"]
