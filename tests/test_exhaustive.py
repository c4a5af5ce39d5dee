"""Whether the arms of a ``match`` take every value: cases that rustc was asked about (E0004)."""

from __future__ import annotations

import pytest

from portkit.syntax.exhaustiveness import (
    Constructor,
    Families,
    OrPattern,
    Pattern,
    UnsupportedPatternError,
    find_missing,
)

FAMILIES: Families = {
    "Device": {"Cpu": 0, "Cuda": 1, "Rocm": 1},
    "Option": {"None": 0, "Some": 1},
    "tuple 2": {"": 2},
}
CPU = Constructor("Device", "Cpu")
CUDA = Constructor("Device", "Cuda", (None,))
ROCM = Constructor("Device", "Rocm", (None,))


def pair(first: Pattern, second: Pattern) -> Pattern:
    return Constructor("tuple 2", "", (first, second))


def test_a_wildcard_takes_everything() -> None:
    assert find_missing([CPU, None], FAMILIES) == []


def test_a_variant_without_an_arm_is_missing() -> None:
    assert find_missing([CPU, CUDA], FAMILIES) == [ROCM]


def test_each_pair_is_looked_at() -> None:
    arms = [
        pair(CPU, None),
        pair(None, CPU),
        pair(CUDA, CUDA),
        pair(ROCM, ROCM),
    ]
    assert find_missing(arms, FAMILIES) == [pair(CUDA, ROCM), pair(ROCM, CUDA)]
    assert find_missing([*arms, OrPattern((pair(CUDA, ROCM), pair(ROCM, CUDA)))], FAMILIES) == []


def test_a_literal_leaves_the_rest_of_its_type() -> None:
    one = Constructor("Device", "Cuda", (Constructor("literal", "1"),))
    assert find_missing([CPU, ROCM, one], FAMILIES) == [CUDA]


def test_a_nested_value_is_looked_into() -> None:
    def some(inner: Pattern) -> Pattern:
        return Constructor("Option", "Some", (inner,))

    assert find_missing(
        [Constructor("Option", "None"), some(OrPattern((CPU, CUDA)))], FAMILIES
    ) == [some(ROCM)]


def test_nothing_is_said_of_two_types_in_one_column() -> None:
    with pytest.raises(UnsupportedPatternError):
        find_missing([CPU, Constructor("Option", "None")], FAMILIES)


def test_nothing_is_said_where_it_takes_too_long() -> None:
    families: Families = {**FAMILIES, "wide": {"": 24}}
    arms = [
        Constructor("wide", "", tuple(each if i in (n, n + 1) else None for i in range(24)))
        for n in range(23)
        for each in (CPU, CUDA, ROCM)
    ]
    with pytest.raises(UnsupportedPatternError):
        find_missing(arms, families)
