"""What the port was proven on: the order of versions, the file, the line that scan prints."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from cli_support import invoke, make_candle
from msgspec.structs import replace

from portkit.codebases.directory import Directory
from portkit.codebases.registry import find_codebase
from portkit.errors import ProfileError
from portkit.profiles.profile import load_codebase
from portkit.profiles.tested_versions import (
    FILE,
    TestedVersions,
    format_tested_versions,
    load_tested_versions,
    warn_if_untested,
)
from portkit.syntax.semver import version_precedence
from tools.proof.versions.answers import Answers, proven
from tools.proof.versions.asked import load_crates

ROOT = Path(__file__).parents[1]
CANDLE = find_codebase("candle")
REPORTS = ROOT / "reports" / "versions"

# The example of semver.org 2.0.0, item 11, with the three versions of its second sentence.
ORDERED = [
    *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"),
    *("1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "2.0.0", "2.1.0", "2.1.1", "2.10.0"),
]


def key(version: str) -> tuple[object, ...]:
    found = version_precedence(version)
    assert found is not None
    return found


def test_versions_are_ordered_as_semver_orders_them() -> None:
    assert sorted(sorted(ORDERED, key=len), key=key) == ORDERED
    assert all(key(a) < key(b) for a, b in itertools.pairwise(ORDERED))
    assert key("1.0.0+build.1") == key("1.0.0")
    assert version_precedence("main") is None


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("0.9.0", True),
        ("0.9.2-alpha.1", True),
        ("0.10.7", True),
        ("0.11.1", True),
        ("0.11.1-rc.1", True),
        ("0.9.0-alpha.5", False),
        ("0.8.4", False),
        ("0.11.2", False),
        ("0.12.0-alpha.1", False),
        ("", False),
    ],
)
def test_a_version_is_inside_or_outside(version: str, inside: bool) -> None:
    assert TestedVersions(("0.9.0", "0.10.0", "0.11.1")).holds(version) is inside


def test_the_file_says_what_was_written(tmp_path: Path) -> None:
    found = TestedVersions(("0.9.0", "0.9.2-alpha.1"), 23, "2026-08-14")
    assert load_tested_versions(Directory(tmp_path)) is None
    (tmp_path / FILE).write_text(format_tested_versions(found))
    assert load_tested_versions(Directory(tmp_path)) == found


def test_a_file_that_says_less_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("commits = 2\n")
    with pytest.raises(ProfileError, match=rf'{FILE}:1: the file needs a "versions"'):
        load_tested_versions(Directory(tmp_path))


def test_the_file_is_made_from_the_tables() -> None:
    published, commits = (Answers(REPORTS / f"{kind}.csv") for kind in ("published", "commits"))
    found = proven(published, commits, load_crates(CANDLE).libraries)
    assert load_tested_versions(CANDLE) == found
    assert CANDLE.text(FILE) == format_tested_versions(found)


def test_the_documentation_names_the_span() -> None:
    found = load_tested_versions(CANDLE)
    assert found is not None
    said = f"proven on {found.said}" if found.versions else ""
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = re.sub(r"\s+", " ", page.read_text())
        assert said in text if found.versions else "proven on" not in text, page


def test_only_a_version_outside_is_spoken_of(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(format_tested_versions(TestedVersions(("0.9.0", "0.11.1"))))
    candle = replace(load_codebase(CANDLE), directory=Directory(tmp_path))
    assert warn_if_untested(candle, "0.9.1") == ""
    assert "candle 99.0.0 is outside" in warn_if_untested(candle, "99.0.0")
    assert warn_if_untested(replace(candle, directory=None), "99.0.0") == ""


@pytest.mark.parametrize("command", [("scan",), ("scan", "--format", "json"), ("apply", "--diff")])
def test_scan_and_apply_say_so_in_one_line(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = TestedVersions(("0.9.0", "0.11.1"))
    monkeypatch.setattr(
        "portkit.profiles.tested_versions.load_tested_versions", lambda directory: known
    )
    assert "outside" not in invoke(*command, make_candle(tmp_path / "known")).err
    newer = make_candle(tmp_path / "newer", version="99.0.0")
    said = [line for line in invoke(*command, newer).err.splitlines() if "outside" in line]
    assert len(said) == 1
    assert said[0].startswith("candle 99.0.0 is outside what the port was proven on, 0.9.0 to ")
