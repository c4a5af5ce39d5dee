"""When a tree may be written to; what was tried with cargo 1.95 is marked so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git

from portkit.errors import DirtyTreeError, DiskError, ToolError
from portkit.profiles.settings import is_decision_change
from portkit.workspace.git import check_clean
from portkit.workspace.git_repository import Repository, find_repository
from portkit.workspace.git_runner import run_git

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "src/lib.rs").write_text("1\n")
    (root / ".gitignore").write_text("/target\n")
    git(root, "init", "--quiet")
    commit(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "x")


def clean(
    root: Path, *, allow_dirty: bool = False, allow_no_vcs: bool = False, allow_staged: bool = False
) -> None:
    check_clean(root, allow_dirty=allow_dirty, allow_no_vcs=allow_no_vcs, allow_staged=allow_staged)


KEPT = "// portkit: exclude PK501 it is CUDA's alone\n"


@pytest.mark.parametrize("staged", [False, True])
def test_what_a_user_says_to_portkit_may_be_uncommitted(repository: Path, *, staged: bool) -> None:
    (repository / "portkit.toml").write_text('gating = "cfg"\n')
    (repository / "src/lib.rs").write_text(f"{KEPT}1 {KEPT}")
    if staged:
        git(repository, "add", ".")
    check_clean(repository, allow_dirty=False, allow_no_vcs=False, own=is_decision_change)
    with pytest.raises(DirtyTreeError, match="changes"):
        clean(repository)
    (repository / "src/lib.rs").write_text(f"{KEPT}2\n")
    with pytest.raises(DirtyTreeError, match=r"uncommitted changes \(src/lib.rs\)"):
        check_clean(repository, allow_dirty=False, allow_no_vcs=False, own=is_decision_change)


@pytest.mark.parametrize("name", ["src/portkit.toml", "src/new.rs", "notes/portkit.toml"])
def test_what_only_looks_like_it_may_not(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text(KEPT)
    with pytest.raises(DirtyTreeError, match="uncommitted"):
        check_clean(repository, allow_dirty=False, allow_no_vcs=False, own=is_decision_change)


def test_a_settings_file_that_is_a_link_or_of_another_workspace_is_a_change(
    repository: Path,
) -> None:
    (repository / "portkit.toml").symlink_to("src/lib.rs")
    with pytest.raises(DirtyTreeError, match="uncommitted"):
        check_clean(repository, allow_dirty=False, allow_no_vcs=False, own=is_decision_change)
    (repository / "portkit.toml").unlink()
    (repository / "portkit.toml").write_text("")
    with pytest.raises(DirtyTreeError, match="uncommitted"):
        check_clean(
            repository / "src", allow_dirty=False, allow_no_vcs=False, own=is_decision_change
        )


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_full_disk_is_no_defect_of_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    full.write_text("#!/bin/sh\necho 'fatal: write error: No space left on device' >&2\nexit 128\n")
    full.chmod(0o755)
    monkeypatch.setattr("portkit.workspace.git_runner.find_program", lambda _: str(full))
    with pytest.raises(DiskError, match=r"`git .*` could not write .*: free some space"):
        run_git(repository, "write-tree")


def test_a_clean_tree(repository: Path) -> None:
    (repository / "target").mkdir()
    (repository / "target/ignored").write_text("")
    clean(repository)
    clean(repository / "src")


def modified(root: Path) -> None:
    (root / "src/lib.rs").write_text("2\n")


def deleted(root: Path) -> None:
    (root / "src/lib.rs").unlink()


def untracked(root: Path) -> None:
    (root / "src/new.rs").write_text("")


def staged_then_modified(root: Path) -> None:  # cargo lists it as dirty
    modified(root)
    git(root, "add", ".")
    (root / "src/lib.rs").write_text("3\n")


def conflicted(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "other")
    modified(root)
    commit(root)
    git(root, "checkout", "--quiet", "-")
    (root / "src/lib.rs").write_text("3\n")
    commit(root)
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", "other")


def made_executable(root: Path) -> None:
    (root / "src/lib.rs").chmod(0o755)


def hidden_by_the_configuration(root: Path) -> None:
    git(root, "config", "status.showUntrackedFiles", "no")
    untracked(root)


@pytest.mark.parametrize(
    "change",
    [
        modified,
        deleted,
        untracked,
        staged_then_modified,
        conflicted,
        made_executable,
        hidden_by_the_configuration,
    ],
)
def test_a_dirty_tree(repository: Path, change: Callable[[Path], None]) -> None:
    change(repository)
    for root in (repository, repository / "src"):
        with pytest.raises(DirtyTreeError, match=r"uncommitted changes \(src/.*--allow-dirty"):
            clean(root)
        with pytest.raises(DirtyTreeError, match="uncommitted"):
            clean(root, allow_staged=True)
        # Unlike cargo, whose --allow-no-vcs drops every check.
        with pytest.raises(DirtyTreeError, match="uncommitted"):
            clean(root, allow_no_vcs=True)
        clean(root, allow_dirty=True)


def test_a_staged_tree(repository: Path) -> None:
    (repository / "src/new.rs").write_text("")
    deleted(repository)
    git(repository, "add", ".")
    with pytest.raises(DirtyTreeError, match=r"staged changes \(src/lib.rs, src/new.rs\)"):
        clean(repository)
    clean(repository, allow_staged=True)
    clean(repository, allow_dirty=True)  # cargo: includes staged changes


def test_the_whole_repository_counts(repository: Path) -> None:
    """As with cargo, tried in a package in a folder of a repository."""
    (repository / "outside.txt").write_text("")
    with pytest.raises(DirtyTreeError, match=r"outside\.txt"):
        clean(repository / "src")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    clean(tmp_path)
    (tmp_path / "a").write_text("")
    with pytest.raises(DirtyTreeError):
        clean(tmp_path)


def test_no_repository(tmp_path: Path) -> None:
    for allow_dirty in (False, True):
        with pytest.raises(DirtyTreeError, match=r"git init.*--allow-no-vcs"):
            clean(tmp_path, allow_dirty=allow_dirty)
    clean(tmp_path, allow_no_vcs=True)


def test_an_ignored_folder_has_no_version_control(repository: Path) -> None:
    """As with cargo, tried; also where the repository around it is dirty."""
    untracked(repository)
    root = repository / "target/tree"
    root.mkdir(parents=True)
    with pytest.raises(DirtyTreeError, match="in no git repository"):
        clean(root)
    clean(root, allow_no_vcs=True)


def test_a_long_list_is_cut(repository: Path) -> None:
    for n in range(8):
        (repository / f"{n}.rs").write_text("")
    with pytest.raises(DirtyTreeError, match=r"\(0.rs, 1.rs, 2.rs, 3.rs, 4.rs and 3 more\)"):
        clean(repository)


def test_odd_names_are_shown_whole(repository: Path) -> None:
    (repository / "a b -> ü").write_text("")
    Path(os.fsdecode(os.fsencode(repository) + b"/\xff")).write_text("")
    with pytest.raises(DirtyTreeError, match=r"\(a b -> ü, \\xff\)") as error:
        clean(repository)
    str(error.value).encode()


def test_a_renamed_file(repository: Path) -> None:
    git(repository, "mv", "src/lib.rs", "src/main.rs")
    with pytest.raises(DirtyTreeError, match=r"staged changes \(src/lib.rs, src/main.rs\)"):
        clean(repository)


def test_git_is_not_led_astray_by_its_environment(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    modified(repository)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    with pytest.raises(DirtyTreeError, match=r"src/lib\.rs"):
        clean(repository)


def test_git_writes_nothing(repository: Path) -> None:
    os.utime(repository / "src/lib.rs", (1, 1))  # git would like to refresh its index
    before = (repository / ".git/index").read_bytes()
    clean(repository)
    assert (repository / ".git/index").read_bytes() == before


def test_git_is_missing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolError, match=r"git, .* cannot be run \(No such file.*install it"):
        clean(repository)
    with pytest.raises(ToolError):
        clean(repository / "src")
    clean(repository, allow_dirty=True)
    clean(repository / "src", allow_dirty=True, allow_no_vcs=True)


def test_git_fails(repository: Path) -> None:
    (repository / ".git/index").write_bytes(b"garbage" * 10)
    with pytest.raises(ToolError, match=r"`git status` failed in .*bad signature") as error:
        clean(repository)
    assert "\n" not in str(error.value)


# --- the git directory -------------------------------------------------------------------------


def told(directory: Path) -> Repository:
    """Return what git itself says."""
    top, git_dir = git(
        directory, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir"
    ).splitlines()
    return Repository(Path(top), Path(git_dir))


def test_the_git_directory_is_the_one_that_git_tells(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    git(repository, "init", "--quiet", f"--separate-git-dir={tmp_path / 'apart'}", "sub")
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "--quiet")
    (source / "a").write_text("")
    commit(source)
    git(
        repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source),
        "module",
    )  # fmt: skip
    for place in ("src", "sub", "module", "../linked", "../linked/src", "."):
        directory = (repository / place).resolve()
        found = find_repository(directory)
        assert found is not None
        assert Repository(found.top, found.git_dir.resolve()) == told(directory)


@pytest.mark.parametrize("content", [b"", b"gitdir: ", b"gitdir: nowhere\n", b"\xff\0", b"x: .\n"])
def test_what_only_looks_like_a_repository_is_passed_by(repository: Path, content: bytes) -> None:
    (repository / "src/.git").write_bytes(content)
    found = find_repository(repository / "src")
    assert found is not None and found.top == repository
    (repository / "src/.git").unlink()
    (repository / "src/.git").mkdir()
    found = find_repository(repository / "src")
    assert found is not None and found.top == repository
