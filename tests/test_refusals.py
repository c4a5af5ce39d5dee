"""`apply --check` and `--diff` refuse what `apply` refuses, with its words, and write nothing.

A table of trees, each tried with all three from the same state.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import KILLED, KillingDisk, git, in_child, picture
from cli_support import LIB, WORKSPACE, Done, add_file, commit, invoke

from portkit.errors import TreeChangedError
from portkit.transaction.change import Change
from portkit.transaction.disk import Disk
from portkit.transaction.journal import find_journals
from portkit.transaction.preconditions import check_plan
from portkit.transaction.transaction import write_plan

if TYPE_CHECKING:
    from collections.abc import Callable

CODE = "pub fn f(d: &crate::Device) -> bool { d.is_cuda() }\n"

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")


@dataclass(frozen=True)
class Case:
    """A tree, and how `apply` ends.

    Attributes:
        name: what is odd about it.
        make: makes the small candle odd; what it leaves is committed where ``clean`` holds.
        code: the exit code of `apply`.
        said: what its sentence holds, as a regular expression.
        clean: whether the tree is committed then.
        options: what `apply` is given.
    """

    name: str
    make: Callable[[Path], object]
    code: int
    said: str
    clean: bool = True
    options: tuple[str, ...] = ()


def stands(path: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Put something else where a file of the port is to be written, or one of the tree stands."""

    def put(tree: Path) -> None:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).unlink(missing_ok=True)
        make(tree / path)

    return put


def moved(path: str) -> Callable[[Path], None]:
    """Replace a folder by a link to where it has gone."""

    def put(tree: Path) -> None:
        shutil.move(tree / path, tree.parent / "gone")
        (tree / path).symlink_to(tree.parent / "gone")

    return put


def journal(make: Callable[[Path], object], suffix: str = "") -> Callable[[Path], None]:
    """Put something where the journal, its lock or its folder is to be."""

    def put(tree: Path) -> None:
        folder = find_journals(tree.resolve(), Disk())[0].folder
        place = folder.with_suffix(suffix) if suffix != ".." else folder.parent
        place.parent.mkdir(exist_ok=True)
        make(place)

    return put


def held(tree: Path) -> object:
    """Hold the tree's lock, for as long as what is returned lives."""
    lock = find_journals(tree.resolve(), Disk())[0].locked()
    lock.__enter__()
    return lock


def staged(tree: Path) -> None:
    add_file(tree, "notes.txt", b"new\n")
    git(tree, "add", "--all")


def new(path: str, content: str = CODE) -> Callable[[Path], object]:
    return lambda tree: add_file(tree, path, content.encode())


def nothing(tree: Path) -> None:
    del tree


CASES = (
    Case("a clean tree", nothing, 0, ""),
    Case("an uncommitted file", new("notes.txt"), 13, r"uncommitted", clean=False),
    Case(
        "an uncommitted file that is allowed",
        *(new("notes.txt"), 0, ""),
        clean=False,
        options=("--allow-dirty",),
    ),
    Case("a staged file", staged, 13, r"staged", clean=False),
    Case("no repository", lambda tree: shutil.rmtree(tree / ".git"), 13, r"git init", clean=False),
    Case(
        "a damaged repository",
        lambda tree: (tree / ".git/index").write_bytes(b"x"),
        *(19, r"`git status` failed"),
        clean=False,
    ),
    Case("a line end in a name", new("candle-core/src/a\nb.rs"), 15, r"control character"),
    Case("a colon in a name", new("candle-core/src/a:b.rs"), 15, r"colon"),
    Case("a link", stands("ROCM.md", lambda p: p.symlink_to("LICENSE")), 15, r"symbolic link"),
    Case("a link to nothing", stands("ROCM.md", lambda p: p.symlink_to("/x")), 15, r"link ROCM"),
    Case("a pipe", stands("ROCM.md", os.mkfifo), 14, r"ROCM\.md stands"),
    Case("a folder", stands("ROCM.md/a", Path.touch), 14, r"ROCM\.md stands"),
    Case("a file for a folder", stands("candle-hip", Path.touch), 14, r"is not a folder"),
    Case("a pipe for a folder", stands("candle-hip", os.mkfifo), 14, r"is not a folder"),
    Case(
        "a link for a folder", stands("candle-hip", lambda p: p.symlink_to("/x")), 15, r"candle-h"
    ),
    Case("a read-only file", lambda tree: (tree / LIB).chmod(0o444), 14, r"read-only"),
    Case("a read-only folder", lambda tree: tree.chmod(0o555), 14, r"read-only"),
    Case("a journal that is a file", journal(Path.touch), 21, r"is not a folder"),
    Case("a journal's folder that is a file", journal(Path.touch, ".."), 21, r"cannot be kept"),
    Case(
        "a journal's folder that leads away",
        journal(lambda place: place.symlink_to("refs"), ".."),
        *(21, r"it is a symbolic link"),
    ),
    Case("a lock that is a folder", journal(Path.mkdir, ".lock"), 21, r"cannot be kept"),
    Case("another portkit", held, 22, r"another portkit"),
)


def tried(case: Case, base: Path, *options: str) -> tuple[Done, bool]:
    """Run `apply` on a tree of its own; return how it ended, and whether the tree is as before."""
    tree = base / "tree"
    shutil.copytree(WORKSPACE, tree)
    commit(tree)
    kept = case.make(tree)
    if case.clean and (tree / ".git").is_dir():
        mode = tree.stat().st_mode
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "--allow-empty", "--message", "odd")
        assert tree.stat().st_mode == mode
    before = picture(tree), listed(tree)
    done = invoke("apply", tree, "--no-format", *case.options, *options)
    same = (picture(tree), listed(tree)) == before
    del kept
    tree.chmod(0o755)
    shutil.rmtree(base)
    return done, same


def listed(tree: Path) -> list[str]:
    """Return what is in the git directory, but for git's objects."""
    return sorted(str(each) for each in tree.glob(".git/portkit/**/*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_looks_is_told_what_who_writes_is_told(case: Case, tmp_path: Path) -> None:
    base = tmp_path / "base"
    written, _ = tried(case, base)
    assert written.code == case.code, written.err
    assert re.search(case.said, written.err)
    for option, found in ("--check", 1), ("--diff", 0):
        looked, same = tried(case, base, option)
        assert same
        assert looked.err == written.err
        assert looked.code == (written.code or found)
        assert written.code == 0 or not looked.out


@pytest.mark.parametrize("options", [("--check",), ("--diff",), ("--patches", "patches")])
def test_a_checkout_that_only_is_read_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(WORKSPACE, tree)
    commit(tree)
    asked = os.access

    def access(path: str | Path, mode: int) -> bool:
        inside = Path(path).resolve().is_relative_to(tree)
        return asked(path, mode) and not (inside and mode & os.W_OK)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.chdir(tmp_path)
    before = picture(tree), listed(tree)
    refused = invoke("apply", tree, "--no-format")
    assert (refused.code, refused.out) == (21, "")
    done = invoke("apply", tree, "--no-format", *options)
    assert done.code == int(options == ("--check",)), done.err
    assert {"--check": "Would port", "--diff": "+++ b/", "--patches": "patches/0001-"}[
        options[0]
    ] in done.out
    if options[0] != "--patches":
        why = refused.err.removeprefix("error: ")
        assert done.err == f"`portkit apply` would refuse to write it: {why}"
    assert (picture(tree), listed(tree)) == before
    # What else stands in the way does so all the same.
    (tree / "notes.txt").write_text("mine\n")
    assert (
        invoke("apply", tree, "--no-format", options[0], *["more"][: len(options) - 1]).code == 13
    )


def test_a_tree_that_is_ported_is_never_refused(tmp_path: Path) -> None:
    """Nothing would be written: what is uncommitted does not matter, to either."""
    shutil.copytree(WORKSPACE, tmp_path / "tree")
    commit(tmp_path / "tree")
    assert invoke("apply", tmp_path / "tree", "--no-format").code == 0
    for options in ((), ("--check",), ("--diff",)):
        assert invoke("apply", tmp_path / "tree", "--no-format", *options).code == 0


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_a_killed_run_is_left_to_who_writes(tmp_path: Path, option: str) -> None:
    """Who looks ends no run: that would be to write."""
    tree = tmp_path / "tree"
    shutil.copytree(WORKSPACE, tree)
    commit(tree)
    old = (tree / LIB).read_bytes()
    change = [Change(LIB, old, old + b"// more\n")]
    for at in range(1, 40, 3):
        if in_child(partial(write_plan, tree, change, disk=KillingDisk(at))) != KILLED:
            break
        before = picture(tree), listed(tree)
        if not find_journals(tree.resolve(), Disk())[0].exists():
            continue
        done = invoke("apply", tree, "--no-format", option)
        assert (done.code, done.out) == (1, "")
        assert "`portkit apply` completes what was begun" in done.err
        assert (picture(tree), listed(tree)) == before
        shutil.rmtree(tree)
        shutil.copytree(WORKSPACE, tree)
        commit(tree)
    else:
        pytest.fail("it is never written")
    assert at > 5


def test_a_name_that_is_too_long_for_the_file_system(tmp_path: Path) -> None:
    """Also below a folder that is missing yet, where the system does not look."""
    for path in ("n" * 256, f"missing/{'n' * 256}"):
        with pytest.raises(TreeChangedError, match="too long"):
            check_plan(tmp_path, [Change(path, None, b"x")], lambda root: None)
