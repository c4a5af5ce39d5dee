"""From findings to changes: overlaps, order, line ends, layout."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tree_support import Tree, crate, find_conflicts, scan_of

from portkit.engine.plan import build_plan
from portkit.errors import PlanError, ToolError
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, NewFile, Status

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "fn a() {}\nfn b() {}\nfn c() {}\n"
# Several rules at work, in a file that rustfmt would leave alone.
RICH = """\
use gpu::{CudaDevice, Device};

pub enum Choice {
    Cpu,
    Cuda(CudaDevice),
}

pub fn new_cuda(device: &Device) -> bool {
    match device {
        Device::Cuda(_) => true,
        Device::Metal(_) => false,
        _ => false,
    }
}

pub fn fast(device: &Device) -> bool {
    if device.is_cuda() && cfg!(feature = "cuda") {
        return true;
    }
    matches!(device, Device::Cuda(_))
}

#[cfg(feature = "cuda")]
pub mod cuda_only {}
"""


def finding(*edits: Edit, code: str = "PK001", path: str = "src/lib.rs") -> Finding:
    return Finding(
        code=code,
        path=path,
        span=Span(0, 1),
        construct="test",
        symbol="test",
        applicability=Applicability.SAFE,
        status=Status.TODO,
        message="a test",
        edits=edits,
    )


def planned(tree: Tree, *findings: Finding) -> Tree:
    """Return what the findings make of a tree."""
    made = build_plan(replace(scan_of(tree), findings=findings), rustfmt=False)
    return {change.path: change.after for change in made.changes}


def test_edits_of_several_findings_are_made_in_the_order_of_the_file() -> None:
    later, sooner = finding(Edit(20, 29, "fn d() {}")), finding(Edit(0, 9, ""), Edit(10, 10, "// "))
    wanted = b"\n// fn b() {}\nfn d() {}\n"
    assert planned(crate(TEXT), later, sooner) == {"src/lib.rs": wanted}


def test_two_edits_of_one_place_are_a_defect_that_names_both_rules() -> None:
    one, other = finding(Edit(10, 19, "x"), code="PK001"), finding(Edit(15, 16, "y"), code="PK002")
    with pytest.raises(PlanError, match=r"src/lib\.rs:2: PK001 and PK002 want to edit") as raised:
        planned(crate(TEXT), one, other)
    assert raised.value.exit_code == 17
    assert find_conflicts([one, other]) == [(one, other)]


def test_neighbouring_edits_are_no_overlap() -> None:
    one, other = finding(Edit(0, 2, "FN")), finding(Edit(2, 4, "_A"), Edit(4, 4, "_"))
    assert planned(crate(TEXT), one, other)["src/lib.rs"].startswith(b"FN_A_() {}")
    assert find_conflicts([one, other]) == []


def test_findings_that_are_done_write_nothing() -> None:
    done = replace(finding(Edit(0, 2, "FN")), status=Status.PORTED)
    assert planned(crate(TEXT), done) == {}


@pytest.mark.parametrize("path", ["src/lib.rs", "src/new.rs"])
def test_a_new_file_must_be_new(path: str) -> None:
    adding = replace(finding(), files=lambda: (NewFile(path, "x"),))
    found = [adding, adding] if path == "src/new.rs" else [adding]
    with pytest.raises(PlanError, match=rf"PK001 would add {path}"):
        planned(crate(TEXT), *found)


def test_new_text_has_the_line_ends_of_its_file() -> None:
    tree = {**crate(""), "src/lib.rs": b"a\r\nb\r\n"}
    assert planned(tree, finding(Edit(1, 1, "\nx")))["src/lib.rs"] == b"a\r\nx\r\nb\r\n"


def test_a_missing_newline_at_the_end_stays_missing() -> None:
    tree = crate("enum E {\n    Cpu,\n    Cuda,\n}")
    after = {c.path: c.after for c in build_plan(scan_of(tree)).changes}["src/lib.rs"]
    # rustfmt ends every file with a line end, so a file without one keeps its layout.
    assert after == b"enum E {\n    Cpu,\n    Cuda,\n    Rocm,\n}"


def test_a_file_that_was_not_formatted_keeps_its_layout() -> None:
    made = build_plan(scan_of(crate("enum E { Cpu, Cuda, }\nfn  spaced ( ) {}\n")))
    assert made.unformatted == ("src/lib.rs",)
    (change,) = made.changes
    assert b"fn  spaced ( ) {}" in change.after
    assert b"Rocm" in change.after


def test_what_is_written_is_formatted_with_the_edition_of_the_crate() -> None:
    # `gen` is a keyword from edition 2024 on (the Rust reference, chapter "Keywords").
    tree = crate("fn gen() {}\n\nenum E {\n    Cuda,\n}\n")
    assert build_plan(scan_of(tree)).unformatted == ()
    newer = {**tree, "Cargo.toml": tree["Cargo.toml"].replace(b"2021", b"2024")}
    assert build_plan(scan_of(newer)).unformatted == ("src/lib.rs",)


def test_what_would_not_parse_is_not_written() -> None:
    # rustfmt: "only `;` terminated statements or tail expressions are allowed after this attribute"
    tree = crate("fn a() {\n    b();\n}\n")
    broken = finding(Edit(13, 17, "#[cfg(x)]\n    b()\n    #[cfg(y)]\n    c!()"))
    made = replace(scan_of(tree), findings=(broken,))
    with pytest.raises(PlanError, match=r"src/lib\.rs would be no Rust any more"):
        build_plan(made)
    assert b"#[cfg(x)]" in build_plan(made, rustfmt=False).changes[0].after


def test_rustfmt_that_takes_too_long_is_no_judge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It says nothing of the new text then, which is written as it is, and named."""
    monkeypatch.setattr("portkit.engine.rustfmt._PATIENCE", 0.5)
    slow = tmp_path / "rustfmt"
    slow.write_text('#!/bin/sh\ncat > "$0.$$"; grep -q Rocm "$0.$$" && sleep 30; cat "$0.$$"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    made = build_plan(scan_of(crate("enum E {\n    Cuda,\n}\n")))
    assert made.unformatted == ("src/lib.rs",)
    assert b"Rocm" in made.changes[0].after


def test_rustfmt_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="rustfmt is missing: install it"):
        build_plan(scan_of(crate("enum E {\n    Cuda,\n}\n")))


@given(st.integers(0, 2**32))
def test_the_order_of_findings_does_not_matter(seed: int) -> None:
    found = [f for f in scan_of(crate(RICH)).findings if f.edits]
    assert len(found) > 6
    chosen = random.Random(seed).sample(found, random.Random(seed).randint(0, len(found)))
    in_order = [f for f in found if f in chosen]
    assert planned(crate(RICH), *chosen) == planned(crate(RICH), *in_order)


@given(st.sets(st.integers(0, 30)))
def test_places_can_be_ported_in_any_steps(first: set[int]) -> None:
    """Some places now and the rest later give what all at once give."""
    found = [f for f in scan_of(crate(RICH)).findings if f.edits]
    some = [f for i, f in enumerate(found) if i in first]
    half = {**crate(RICH), **planned(crate(RICH), *some)}
    done = {**half, **planned(half, *scan_of(half).findings)}
    assert planned(done, *scan_of(done).findings) == {}
    assert done == {**crate(RICH), **planned(crate(RICH), *found)}
