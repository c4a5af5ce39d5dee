"""Trees that stay from run to run: cargo builds what has changed, and nothing else."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from kept_trees import claim_products, keep, mirror

if TYPE_CHECKING:
    from pathlib import Path


def write_crate(root: Path, text: str) -> Path:
    (root / "src").mkdir(parents=True)
    (root / "Cargo.toml").write_text('[package]\nname = "kept"\nversion = "0.1.0"\n')
    (root / "src" / "lib.rs").write_text(text)
    return root


def test_equal_files_keep_their_times(tmp_path: Path) -> None:
    old, new = write_crate(tmp_path / "old", "// 1"), write_crate(tmp_path / "new", "// 2")
    (old / "gone").mkdir()
    (old / "gone" / "Cargo.lock").touch()
    (old / "kind").mkdir()
    (new / "kind").write_text("a file now")
    (new / "link").symlink_to("kind")
    (new / "run").write_text("")
    (new / "run").chmod(0o755)
    for path in (old / "Cargo.toml", old / "src" / "lib.rs"):
        os.utime(path, (1, 1))
    mirror(new, old)
    assert sorted(p.name for p in old.iterdir()) == ["Cargo.toml", "kind", "link", "run", "src"]
    assert (old / "Cargo.toml").stat().st_mtime == 1
    assert (old / "src" / "lib.rs").stat().st_mtime > 1
    assert (old / "src" / "lib.rs").read_text() == "// 2"
    assert (old / "link").read_text() == "a file now"
    assert os.access(old / "run", os.X_OK)


def test_two_runs_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = write_crate(tmp_path / "tree", "")
    with ExitStack() as locks:
        kept = keep(tree, "crate", locks)
        assert kept.is_relative_to(tmp_path / "cache")
        assert keep(tree, "crate", locks) == tree
    with ExitStack() as locks:
        assert keep(tree, "crate", locks) == kept


@pytest.mark.real
def test_cargo_compiles_what_another_tree_of_a_version_has_otherwise(tmp_path: Path) -> None:
    target = tmp_path / "target"
    right = write_crate(tmp_path / "right-0.1.0", "pub fn one() -> u8 { 1 }")
    wrong = write_crate(tmp_path / "wrong-0.1.0", "pub fn one() -> u8 { true }")
    for path in (*right.rglob("*"), *wrong.rglob("*")):
        os.utime(path, (1, 1))

    def check(tree: Path) -> bool:
        claim_products(tree, target)
        command = ["cargo", "check", "--offline", "--quiet", "--target-dir", str(target)]
        return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0

    assert [check(tree) for tree in (right, wrong, right, wrong)] == [True, False, True, False]


@pytest.mark.real
def test_cargo_builds_again_what_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def check(name: str, text: str) -> str:
        with ExitStack() as locks:
            kept = keep(write_crate(tmp_path / name, text), "crate", locks)
            command = ["cargo", "check", "--offline", "--target-dir", str(tmp_path / "target")]
            done = subprocess.run(
                [*command, "--verbose"], cwd=kept, capture_output=True, text=True, check=False
            )
        return done.stderr

    assert "Checking kept" in check("first", "fn unused() {}")
    again = check("second", "fn unused() {}")
    # A warning is told once more.
    assert "Fresh kept" in again and "never used" in again
    assert "mismatched types" in check("third", "fn broken() -> u8 {}")
