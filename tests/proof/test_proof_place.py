"""The program's crate, placed beside a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from portkit.errors import DiskError
from portkit.numerics.program_crate import CRATE, place_program
from portkit.shipped import shipped

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Cargo.lock").write_text("version = 4\n", encoding="utf-8")
    return tree


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_the_crate_lies_beside_a_link_to_the_tree(root: Path, tmp_path: Path) -> None:
    crate = place_program(root, "candle", tmp_path / "base")
    assert (crate / "../candle").resolve() == root
    assert files(crate) == files(shipped(CRATE)) | {"Cargo.lock"}
    assert (crate / "Cargo.lock").read_text(encoding="utf-8") == "version = 4\n"
    assert list(root.iterdir()) == [root / "Cargo.lock"]


def test_what_stands_is_left_alone(root: Path, tmp_path: Path) -> None:
    crate = place_program(root, "candle", tmp_path / "base")
    (crate / "Cargo.lock").write_text("of cargo\n", encoding="utf-8")
    (crate / "target").mkdir()
    (crate / "target" / "made").touch()
    (crate / "src" / "old.rs").touch()
    before = (crate / "src" / "main.rs").stat().st_mtime_ns
    assert place_program(root, "candle", tmp_path / "base") == crate
    assert (crate / "src" / "main.rs").stat().st_mtime_ns == before
    assert (crate / "Cargo.lock").read_text(encoding="utf-8") == "of cargo\n"
    assert (crate / "target" / "made").exists()
    assert not (crate / "src" / "old.rs").exists()


def test_a_new_lock_file_of_the_tree_is_taken_over(root: Path, tmp_path: Path) -> None:
    crate = place_program(root, "candle", tmp_path / "base")
    (crate / "Cargo.lock").write_text("of cargo\n", encoding="utf-8")
    (root / "Cargo.lock").write_text("version = 5\n", encoding="utf-8")
    place_program(root, "candle", tmp_path / "base")
    assert (crate / "Cargo.lock").read_text(encoding="utf-8") == "version = 5\n"


def test_trees_do_not_share_a_place(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert place_program(root, "candle", tmp_path / "base") != place_program(
        other, "candle", tmp_path / "base"
    )


def test_a_place_that_cannot_be_written_is_told(root: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.touch()
    with pytest.raises(DiskError, match="make room"):
        place_program(root, "candle", base)
