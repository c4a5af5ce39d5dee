"""The page about what MIOpen's convolutions give."""

from __future__ import annotations

from tools.proof.convolutions import Case, Run, page, parse

PRINTED = """
running 1 test
test what_convolutions_compute ... case: conv2d of f16: 0.500
case: conv1d of f32: 0.031
case: conv1d of bf16
"""


def test_only_whole_cases_count() -> None:
    assert parse(PRINTED) == (Case("conv2d", "f16", 0.5), Case("conv1d", "f32", 0.031))


def test_the_page_tells_the_worst_of_each() -> None:
    better = Case("conv2d", "f16", 0.25)
    runs = [
        Run(32, "estimated", parse(PRINTED), "", 2.4),
        Run(32, "measured", (better,), "", 1),
        Run(64, "estimated", (better,), "", 3),
    ]
    text = page(runs, "2026-01-02")
    assert "Taken on 2026-01-02" in text
    assert "4 convolutions forward" in text
    assert "None is off by more than its type allows." in text
    assert "| 32 | at once | estimated | 2 | 2 |" in text
    assert "| 64 | as late as may be | estimated | 1 | 3 |" in text
    assert "| operation | solution | f16 | f32 |" in text
    assert "| conv1d | estimated |  | 0.03 |" in text
    assert "| conv2d | estimated | 0.50 |  |" in text
    assert "| conv2d | measured | 0.25 |  |" in text


def test_what_fails_is_told_first() -> None:
    text = page([Run(64, "measured", (), "conv1d of f32: 3, not 4", 1)], "2026-01-02")
    assert "**With wavefronts of 64 (measured) some fail" in text
    assert text.endswith(
        "## What fails with wavefronts of 64, measured\n\nconv1d of f32: 3, not 4\n"
    )
    assert "None is off" not in text
