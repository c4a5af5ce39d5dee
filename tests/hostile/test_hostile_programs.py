"""A tree that names programs: none of them is run by a command that only looks, or that writes.

Each tree holds a trap: a program that leaves a file where it was run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_support import git, trap, with_traps

from portkit.engine.rustfmt import Rustfmt
from portkit.errors import DirtyTreeError
from portkit.verify.baseline import check_out_tree, find_tree_hash
from portkit.workspace.git import check_clean
from portkit.workspace.git_runner import run_git
from portkit.workspace.programs import find_program, find_tools

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.rs").write_text("fn main() {}\n")
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "one")
    return tree


def test_git_itself_falls_into_the_traps(repository: Path, tmp_path: Path) -> None:
    """Otherwise the tests below could not fail."""
    sprung = tmp_path / "sprung"
    with_traps(repository, sprung)
    subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
    assert sprung.exists()


def test_a_repository_that_names_programs(repository: Path, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    with_traps(repository, sprung)
    check_clean(repository, allow_dirty=False, allow_no_vcs=False)
    commit = run_git(repository, "rev-parse", "HEAD").stdout.decode().strip()
    out = check_out_tree(repository, find_tree_hash(repository, commit))
    assert (out / "a.rs").read_text() == "fn main() {}\n"
    assert not sprung.exists()


def test_a_change_is_still_seen(repository: Path, tmp_path: Path) -> None:
    with_traps(repository, tmp_path / "sprung")
    (repository / "a.rs").write_text("fn main() { }\n")
    with pytest.raises(DirtyTreeError, match=r"a\.rs"):
        check_clean(repository, allow_dirty=False, allow_no_vcs=False)


def test_a_filter_of_the_users_own_is_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git-lfs is; a repository that says something else of it is not asked."""
    sprung, theirs = tmp_path / "sprung", tmp_path / "theirs"
    with_traps(repository, theirs)
    own = trap(tmp_path / "own", sprung)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f'[filter "caught"]\n\tclean = {own}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    check_clean(repository, allow_dirty=False, allow_no_vcs=False)
    assert sprung.exists()
    assert not theirs.exists()


def test_settings_in_the_environment_stay(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "a.own")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "yes")
    assert run_git(repository, "config", "a.own").stdout == b"yes\n"
    assert run_git(repository, "config", "core.fsmonitor").stdout == b"false\n"


@pytest.mark.skipif(shutil.which("rustup") is None, reason="no rustup, which chooses toolchains")
def test_a_toolchain_of_the_trees_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, sprung = tmp_path / "tree", tmp_path / "sprung"
    for name in ("rustfmt", "cargo", "rustc", "cargo-fmt"):
        trap(tree / "toolchain" / "bin" / name, sprung)
    (tree / "rust-toolchain.toml").write_text(f'[toolchain]\npath = "{tree}/toolchain"\n')
    (tree / "rustfmt.toml").write_text("max_width = 40\n")
    monkeypatch.delenv("RUSTUP_TOOLCHAIN", raising=False)
    monkeypatch.chdir(tree)
    subprocess.run(["rustfmt", "--version"], input=b"", check=False, capture_output=True)
    assert sprung.exists()  # rustup falls into the trap
    sprung.unlink()

    long = b"fn f(first: u32, second: u32, third: u32) {}\n"
    formatted = Rustfmt(tree).formatted(long, "2021")
    assert isinstance(formatted, bytes)
    assert formatted.count(b"\n") > 1  # the tree's settings hold
    assert all(tool.version for tool in find_tools() if tool.name in ("cargo", "rustc", "rustfmt"))
    run = subprocess.run([sys.executable, "-m", "portkit", "--version"], capture_output=True)
    assert run.returncode == 0
    assert not sprung.exists()


def test_a_program_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap(tmp_path / "git", tmp_path / "sprung")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}/nowhere")
    assert shutil.which("git") is not None
    assert find_program("git") == ""
