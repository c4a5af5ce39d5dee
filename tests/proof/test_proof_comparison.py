"""What the program says, read."""

from __future__ import annotations

import json

import pytest

from portkit.errors import VerificationError
from portkit.numerics.comparison import Part, parse_comparison

HEAD = {"version": "0.11.1", "device": "rocm", "seed": 7, "cases": 3}
SUM = {
    "operation": "sum",
    "elements": "f32",
    "differs": {"device": {"kind": "finite", "message": "1, expected 2", "ulps": 3}, "cpu": None},
    "times": 2,
    "case": "sum/f32/7/0/1",
    "empty": False,
    "edges": True,
    "inputs": ["f32 [2]"],
    "arguments": "dimensions [0]",
}
CRASH = {
    "operation": "cast",
    "elements": "f8e4m3 f64",
    "differs": {"cpu": {"kind": "crash", "message": "signal: 6", "ulps": 0}},
    "times": 1,
    "case": "cast/f8e4m3 f64/7/1/17",
}


def counts(elements: str, agreed: int) -> dict[str, object]:
    kept = {"cases": 3, "agreed": agreed, "refused": 0, "differed": 3 - agreed}
    return {"operation": "sum", "elements": elements, "counts": kept}


def lines(*said: object) -> list[str]:
    return [json.dumps(each) for each in said]


def test_lines_are_read() -> None:
    found = parse_comparison(lines(HEAD, SUM, counts("f32", 1), CRASH, counts("f64", 3)))
    assert (found.version, found.device, found.seed, found.cases) == ("0.11.1", "rocm", 7, 3)
    first, second = found.differences
    assert first.device == Part("finite", "1, expected 2", 3.0)
    assert first.cpu is None
    assert first.edges
    assert second.device is None
    assert second.cpu == Part("crash", "signal: 6")
    assert found.counts["sum"] == {"cases": 6, "agreed": 4, "refused": 0, "differed": 2}
    assert found.total("agreed") == 4


def test_a_difference_is_a_line_for_a_person() -> None:
    (first, _) = parse_comparison(lines(HEAD, SUM, CRASH)).differences
    assert str(first) == "sum of f32: the device finite (1, expected 2) [sum/f32/7/0/1]"


@pytest.mark.parametrize(
    "said", [["no json"], lines(HEAD, {"operation": "sum"}), lines([]), lines({"candle": "1"})]
)
def test_other_lines_are_told(said: list[str]) -> None:
    with pytest.raises(VerificationError, match="cannot be read"):
        parse_comparison(said)


def test_silence_is_told() -> None:
    with pytest.raises(VerificationError, match="says nothing"):
        parse_comparison([])
