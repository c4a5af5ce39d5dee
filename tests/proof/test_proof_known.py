"""The table of differences that are understood: what it explains, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest
from codebase_support import CANDLE

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError
from portkit.numerics.comparison import Difference, Part
from portkit.numerics.known_differences import (
    CLASSES,
    FILE,
    KnownDifference,
    KnownTable,
    UnlaunchedKernels,
    find_reasons,
    judge_differences,
    load_table,
)

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = KnownDifference("upstream", "CUDA does so.", operation="sum|mean", elements="f(16|32)")
WRONG = Difference("sum", "f32", device=Part("finite", "1, expected 2", 3.0))


def explained(entry: KnownDifference, difference: Difference, version: str = "0.11.1") -> bool:
    found = judge_differences([difference], KnownTable((entry,), ()), version)
    assert len(found.explained) + len(found.unexplained) == 1
    assert bool(found.idle) is (not found.explained and version.startswith(entry.versions))
    return bool(found.explained)


@pytest.mark.parametrize(
    ("difference", "whether"),
    [
        (WRONG, True),
        (replace(WRONG, operation="mean"), True),
        (replace(WRONG, operation="sum of squares"), False),
        (replace(WRONG, elements="f64"), False),
        (replace(WRONG, elements="f32 f32"), False),
        (replace(WRONG, device=None, cpu=WRONG.device), False),
    ],
)
def test_an_entry_speaks_of_its_operations_types_and_backend(
    difference: Difference, whether: bool
) -> None:
    assert explained(ENTRY, difference) is whether


@pytest.mark.parametrize(
    ("fields", "difference", "whether"),
    [
        ({"who": "both"}, replace(WRONG, device=None, cpu=WRONG.device), True),
        ({"who": "cpu"}, WRONG, False),
        ({"differs": "finite|nan"}, WRONG, True),
        ({"differs": "nan"}, WRONG, False),
        ({"message": "expected"}, WRONG, True),
        ({"message": "unexpected"}, WRONG, False),
        ({"ulps": 3}, WRONG, True),
        ({"ulps": 2.9}, WRONG, False),
        ({"empty": True}, WRONG, False),
        ({"empty": True}, replace(WRONG, empty=True), True),
        ({"edges": True}, WRONG, False),
        ({"edges": True}, replace(WRONG, edges=True), True),
        ({"versions": ("0.9", "0.11")}, WRONG, True),
        ({"versions": ("0.9", "0.10")}, WRONG, False),
    ],
)
def test_an_entry_goes_no_further_than_it_says(
    fields: dict[str, object], difference: Difference, whether: bool
) -> None:
    assert explained(msgspec.structs.replace(ENTRY, **fields), difference) is whether


def test_each_backend_that_differs_needs_an_entry_of_its_own() -> None:
    both = replace(WRONG, cpu=Part("panic", "overflow"))
    found = judge_differences([both], KnownTable((ENTRY,), ()), "0.11.1")
    assert [who for _, who, _ in found.explained] == ["device"]
    assert found.unexplained == ((both, "cpu"),)


def test_the_first_entry_that_explains_counts() -> None:
    narrow, wide = (
        msgspec.structs.replace(ENTRY, reason="narrow"),
        KnownDifference("cpu", "wide", operation=".*"),
    )
    found = judge_differences([WRONG], KnownTable((narrow, wide), ()), "0.11.1")
    assert [entry.reason for _, _, entry in found.explained] == ["narrow"]
    assert found.idle == (wide,)


def test_kernels_that_are_not_launched_have_reasons_by_version() -> None:
    table = KnownTable(
        (),
        (UnlaunchedKernels("conv1d_.*", "columns"), UnlaunchedKernels("mul_.*", "fast", ("0.11",))),
    )
    kernels = ("conv1d_f32", "mul_mat", "my_conv1d_f32")
    assert find_reasons(kernels, table, "0.11.1") == {
        "conv1d_f32": "columns",
        "mul_mat": "fast",
        "my_conv1d_f32": "",
    }
    assert find_reasons(kernels, table, "0.9.2")["mul_mat"] == ""


def test_our_own_table_is_well_formed() -> None:
    table = load_table(CANDLE)
    assert {entry.kind for entry in table.differences} <= set(CLASSES)
    assert all(entry.reason.strip().endswith(".") for entry in table.differences)
    assert all(entry.reason.strip().endswith(".") for entry in table.unlaunched)
    # No entry may wave through whatever the device gives for any operation on any type.
    for entry in table.differences:
        values = "finite" in entry.differs or entry.differs == ".*"
        broad = entry.operation == ".*" and entry.elements == ".*" and entry.who != "cpu"
        assert not (values and broad), entry


@pytest.mark.parametrize(
    "text",
    [
        "[[difference]]\nkind = 'luck'\noperation = 'x'\nreason = 'y'",
        "[[difference]]\nkind = 'cpu'\noperation = 'x'\nreason = ''",
        "[[difference]]\nkind = 'cpu'\noperation = 'x'\nreason = 'y'\nwho = 'gpu'",
        "[[difference]]\nkind = 'cpu'\noperation = '('\nreason = 'y'",
        "[[difference]]\nkind = 'cpu'\noperation = 'x'\nreason = 'y'\nmore = 1",
        "[[unlaunched]]\nkernels = '('\nreason = 'y'",
        "[[unlaunched]]\nreason = 'y'",
        "[[difference",
    ],
)
def test_a_malformed_table_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=r"crosscheck\.toml(:\d+: | is not valid TOML)"):
        load_table(Directory(tmp_path))
