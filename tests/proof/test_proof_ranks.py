"""The page about what ranks of RCCL compute."""

from __future__ import annotations

from tools.proof.ranks import Case, Run, page, parse

PRINTED = """
running 1 test
case: all_reduce (sum) of f32 by 2 threads: 0.250
case: send, recv of u8 by 3 processes: 0.000
test what_ranks_compute ... case: broadcast of i8 by 2 threads: 0.000
"""


def test_only_whole_lines_are_cases() -> None:
    assert parse(32, PRINTED) == (
        Case(32, "all_reduce (sum)", "f32", 2, "threads", 0.25),
        Case(32, "send, recv", "u8", 3, "processes", 0.0),
    )


def test_the_page_tells_the_worst_of_each() -> None:
    better = Case(64, "all_reduce (sum)", "f32", 2, "threads", 0.1)
    text = page([Run(32, parse(32, PRINTED), "", 2.4), Run(64, (better,), "", 3)], "2026-01-02")
    assert "Taken on 2026-01-02" in text
    assert "3 cases, 2 to 3 ranks" in text
    assert "None is off by more than its type allows." in text
    assert "| 32 | at once | threads | 1 | 0 | 1 | 2 for both |" in text
    assert "| 64 | as late as may be | processes | 0 | 0 | 0 | 3 for both |" in text
    assert "| operation | f32 | u8 |" in text
    assert "| all_reduce (sum) | 0.25 |  |" in text
    assert "| send, recv |  | 0 |" in text


def test_what_fails_is_told_first() -> None:
    text = page([Run(32, (), "all_reduce (sum) of f32: 3, not 4", 1)], "2026-01-02")
    assert "**With wavefronts of 32 some fail" in text
    assert text.endswith(
        "## What fails with wavefronts of 32\n\nall_reduce (sum) of f32: 3, not 4\n"
    )
    assert "None is off" not in text
