"""What following upstream refuses: a sentence each, and everything is as it was."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from apply_support import git, picture
from cli_support import MATMUL, add_file, commit, invoke
from update_support import BRANCH, COPY, apply, edit, has_edits, make_upstream, replace, state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A port that has a branch of pure ports, and edits; not to be written to."""
    root = make_upstream(tmp_path_factory.mktemp("begun") / "candle")
    assert invoke("branch", root).code == 0
    edit(root)
    return root


@pytest.fixture
def fork(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "candle")


def merge_under_way(root: Path) -> None:
    git(root, "merge", "--no-commit", "--strategy", "ours", "upstream")


def rebase_under_way(root: Path) -> None:
    (root / ".git/rebase-merge").mkdir()


def dirty(root: Path) -> None:
    (root / MATMUL).write_text("//! Mine.\n")


def staged(root: Path) -> None:
    add_file(root, "mine.txt", b"mine\n")
    git(root, "add", "mine.txt")


def untracked(root: Path) -> None:
    add_file(root, "mine.txt", b"mine\n")


def detached(root: Path) -> None:
    git(root, "switch", "--quiet", "--detach")


def shallow(root: Path) -> None:
    head = git(root, "rev-parse", "upstream^").strip()
    (root / ".git/shallow").write_text(f"{head}\n")


def on_the_branch(root: Path) -> None:
    git(root, "switch", "--quiet", BRANCH)


def in_another_work_tree(root: Path) -> None:
    git(root, "worktree", "add", "--quiet", str(root.parent / "other"), BRANCH)


def name_in_the_way(root: Path) -> None:
    git(root, "branch", "--quiet", "--move", BRANCH, "elsewhere")
    git(root, "branch", "--quiet", "portkit", "main")


def commits_on_the_branch(root: Path) -> None:
    git(root, "branch", "--quiet", "--force", BRANCH, "main")


def rewritten(root: Path) -> None:
    git(root, "reset", "--quiet", "--soft", "upstream^")
    git(root, "commit", "--quiet", "--message", "all in one")


def base_is_gone(root: Path) -> None:
    """The port's history is cut off, and so is what it was begun from."""
    rewritten(root)
    git(root, "branch", "--quiet", "--delete", "--force", BRANCH)
    git(root, "switch", "--quiet", "--orphan", "cut")
    git(root, "checkout", "main", "--", ".")
    commit(root)


def no_name(root: Path) -> None:
    git(root, "config", "--unset", "user.name")
    git(root, "config", "--unset", "user.email")


def ignored_in_the_way(root: Path) -> None:
    add_file(root, ".git/info/exclude", b"/candle-core/src/new.rs\n")
    add_file(root, "candle-core/src/new.rs", b"//! Mine.\n")


def filter_of_the_repository(root: Path) -> None:
    add_file(root, ".git/info/attributes", b"*.rs filter=caught\n")
    git(root, "config", "filter.caught.smudge", "touch sprung; cat")
    git(root, "config", "filter.caught.clean", "cat")


CASES: list[tuple[Callable[[Path], None], int, str]] = [
    (merge_under_way, 28, "git is in the middle of a merge"),
    (rebase_under_way, 28, "git is in the middle of a rebase"),
    (dirty, 13, f"has uncommitted changes ({MATMUL})"),
    (staged, 13, "has uncommitted changes (mine.txt)"),
    (untracked, 13, "has uncommitted changes (mine.txt)"),
    (detached, 28, "is on no branch (HEAD is detached)"),
    (shallow, 28, "is a shallow clone"),
    (on_the_branch, 28, f"is on the branch {BRANCH}, which only portkit writes"),
    (in_another_work_tree, 28, f"{BRANCH} is checked out in another work tree"),
    (name_in_the_way, 28, "has a branch portkit, and git can have none called"),
    (commits_on_the_branch, 28, "is no pure port of portkit's"),
    (rewritten, 28, f"main has none of the commits of {BRANCH}"),
    (base_is_gone, 28, "the first commit of cut holds the port already"),
    (no_name, 28, "git knows no name and e-mail"),
    (ignored_in_the_way, 14, "candle-core/src/new.rs"),
    (filter_of_the_repository, 28, "would be checked out by the filter caught"),
]


@pytest.mark.parametrize(("spoil", "code", "sentence"), CASES, ids=[c[0].__name__ for c in CASES])
def test_a_refusal_changes_nothing(
    fork: Path,
    spoil: Callable[[Path], None],
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    spoil(fork)
    before = picture(fork), state(fork)
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == code, done.out + done.err
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert (picture(fork), state(fork)) == before


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("update",), 2, "name the commit of upstream"),
        (("update", "--to", "nowhere"), 28, "git knows no commit nowhere"),
        (("update", "--to", "upstream", "--of", "main"), 28, "leave out --of"),
        (("update", "--to", "upstream", "--pure", BRANCH), 28, "leave out --pure"),
        (("branch",), 28, "has a branch of pure ports already"),
    ],
)
def test_a_wrong_word_changes_nothing(
    begun: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    before = picture(begun), state(begun)
    done = invoke(arguments[0], begun, *arguments[1:])
    assert done.code == code, done.out + done.err
    assert sentence in done.err
    assert (picture(begun), state(begun)) == before


def test_no_repository_and_no_commit(tmp_path: Path) -> None:
    root = make_upstream(tmp_path / "candle")
    shutil.rmtree(root / ".git")
    assert invoke("branch", root).code == 13
    git(root, "init", "--quiet")
    done = invoke("branch", root)
    assert (done.code, "has no commit yet" in done.err) == (28, True)


def test_a_git_that_is_too_old(fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("git")
    old = add_file(
        tmp_path,
        "bin/git",
        f'#!/bin/sh\nif [ "$1" = version ]; then echo git version 2.30.2\n'
        f'else exec {real} "$@"; fi\n'.encode(),
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == 19
    assert "git version 2.30.2 is too old" in done.err
    assert "install git 2.38 or newer" in done.err


def test_nothing_of_the_repository_is_run(fork: Path, tmp_path: Path) -> None:
    """Hooks, a merge driver, a monitor and a program for signatures: git would run them."""
    sprung = tmp_path / "sprung"
    trap = add_file(tmp_path, "trap", f"#!/bin/sh\ntouch {sprung}\n".encode())
    trap.chmod(0o755)
    hooks = ("post-checkout", "post-merge", "pre-commit", "pre-merge-commit", "commit-msg")
    for hook in (*hooks, "prepare-commit-msg", "post-commit", "reference-transaction"):
        shutil.copy(trap, fork / ".git/hooks" / hook)
    add_file(fork, ".git/info/attributes", b"*.rs merge=caught\n")
    for key in ("merge.caught.driver", "core.fsmonitor", "gpg.program"):
        git(fork, "config", key, str(trap))
    for key in ("commit.gpgSign", "log.showSignature", "merge.verifySignatures"):
        git(fork, "config", key, "true")
    done = invoke("update", fork, "--to", "upstream")
    assert done.code == 0, done.out + done.err
    assert "The commits are not signed, though commit.gpgSign is set" in done.err
    assert not sprung.exists()
    assert has_edits(fork)
    assert "rows <= 128" in (fork / MATMUL).read_text()
    git(fork, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message", "x")
    assert sprung.exists()  # git falls into it


def test_a_history_that_was_cut_off_goes_on_where_the_user_names_the_base(fork: Path) -> None:
    base_is_gone(fork)
    said = ("update", fork, "--to", "upstream", "--of", "upstream^")
    done = invoke(*said)
    assert done.code == 0, done.out + done.err
    assert has_edits(fork)


def test_upstream_is_taken_where_the_user_names_it(tmp_path: Path) -> None:
    """Work of one's own that lies below the port is kept as such."""
    root = make_upstream(tmp_path / "candle")
    add_file(root, "mine.txt", b"mine\n")
    commit(root)
    apply(root)
    replace(root, COPY, "    3\n", "    33\n")
    commit(root)
    done = invoke("branch", root, "--of", "upstream")
    assert done.code == 28
    assert "is not in the history of main" in done.err
    assert invoke("branch", root, "--of", "upstream^").code == 0
    assert invoke("update", root, "--to", "upstream").code == 0
    assert (root / "mine.txt").read_text() == "mine\n"
    assert "    33\n" in (root / COPY).read_text()
