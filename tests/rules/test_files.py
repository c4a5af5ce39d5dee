"""PK101 to PK107: whole files, and what a codebase's profile holds about single items."""

from __future__ import annotations

import pytest
from harness import Case, FixtureSuite, Run, runs

from portkit.copying.whole_files import may_declare
from portkit.scan.codes import pages

NAMES = {page.name: page.code for page in pages()}
FILES = ["copied_file", "kept_file", "override", "page_section", "guard", "repair"]


@pytest.mark.parametrize("run", [r for name in FILES for r in runs(name)], ids=str)
class TestFixtures(FixtureSuite): ...


def said_of(name: str, case: str, tree: str = "before") -> list[tuple[str, str, str]]:
    """Return applicability, status and symbol of what a code's findings say about a tree."""
    run = Run(Case(name, case), "dummy")
    found = run.scan(run.case.tree(tree)).findings
    return [(str(f.applicability), str(f.status), f.symbol) for f in found if f.code == NAMES[name]]


def test_a_copy_is_named_after_its_original() -> None:
    assert said_of("copied_file", "a_backend_in_a_folder") == [
        ("safe", "todo", "src/rocm_backend/mod.rs"),
        ("safe", "todo", "src/rocm_backend/timer.rs"),
    ]


def test_what_a_person_changed_in_a_copy_is_reported_and_left_alone() -> None:
    case = Run(Case("copied_file", "an_item_is_missing_from_a_copy"), "dummy")
    differing = [f for f in case.scan(case.after).findings if f.applicability == "review"]
    assert [(f.path, f.symbol) for f in differing] == [("src/rocm_tools.rs", "streams")]


@pytest.mark.parametrize(
    ("case", "path"),
    [
        ("unchanged_file_of_a_peer", "metal_backend.rs"),
        ("unchanged_file_that_the_profile_keeps", "flash.rs"),
        ("unchanged_page_of_documentation", "README.md"),
    ],
)
def test_a_file_that_is_left_alone_is_said_to_be(case: str, path: str) -> None:
    assert said_of("kept_file", case) == [("keep", "none", path)]


def test_an_override_that_knows_no_version_is_to_be_reviewed() -> None:
    assert said_of("override", "an_item_that_differs") == [("review", "none", "CudaArch::new")]
    assert said_of("override", "an_item_that_differs", "after") == [
        ("review", "ported", "CudaArch::new")
    ]


def test_a_bug_upstream_is_to_be_reviewed() -> None:
    assert said_of("repair", "a_bug_that_the_copy_does_not_carry_on") == [
        ("review", "none", "first")
    ]


def test_a_bug_in_several_items_is_told_of_each() -> None:
    assert said_of("repair", "every_item_of_a_pattern") == [
        ("review", "none", "trait PickOne::pick"),
        ("review", "none", "trait PickAny::pick"),
    ]


def test_a_bug_that_is_no_longer_found_is_to_be_reviewed() -> None:
    # Of two that are not found, one names an item that is not there at all.
    run = Run(Case("repair", "upstream_says_it_in_other_words"), "dummy")
    found = [f for f in run.scan(run.case.tree("before")).findings if f.code == NAMES["repair"]]
    assert sorted((f.symbol, str(f.applicability), f.span.start) for f in found) == [
        ("first", "review", 0),
        ("second", "review", 0),
    ]
    assert all("nothing of that is found here" in f.message for f in found)


def test_a_bug_that_is_known_to_be_mended_is_silent() -> None:
    assert said_of("repair", "upstream_has_mended_it") == []


def test_long_comments_behind_an_attribute_are_read_once() -> None:
    # A pattern that backtracks would try each way to part the lines: 2 to the power of 200.
    comment = b"#[allow(unused)]\n" + b"// one line of many\n" * 200
    assert not may_declare(comment + b"fn f() {}\nmod g;\n")
    assert may_declare(comment + b"pub(crate) mod g;\n")
