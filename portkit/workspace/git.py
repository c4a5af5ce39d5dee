"""The user's git repository: whether portkit may write to the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Final

from portkit.errors import DirtyTreeError, HistoryError, ToolError
from portkit.workspace.git_output import read_git
from portkit.workspace.git_repository import Repository, find_repository
from portkit.workspace.regular_files import read_regular

_SHOWN: Final = 5
_LOOKED_AT: Final = 50
"""How many changes are looked into; git is asked for what is committed of each."""
_LARGEST_OWN: Final = 16 << 20
"""How many bytes a file may have whose change is looked into: as many as a file of the tree."""


_UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or `git am`",
    "BISECT_LOG": "a bisection",
}
"""What git keeps in its directory while it is in the middle of something (gitrepository-layout)."""


class GitState(Enum):
    """How far git could restore a tree as it is now."""

    WHOLE = 1
    """All that is in the repository is committed."""
    PART = 2
    """Something is not committed, of the tree's or beside it."""
    NOT = 3
    """The tree is in no repository, or the repository ignores it."""


def check_idle(repository: Repository) -> None:
    """Refuse a repository in which git is in the middle of something."""
    for name, what in _UNDER_WAY.items():
        if (repository.git_dir / name).exists():
            raise HistoryError(
                f"git is in the middle of {what} in {repository.top}: end it or take it back (`git"
                " status` says how), and run portkit again; nothing was changed"
            )


def check_clean(
    root: Path,
    *,
    allow_dirty: bool,
    allow_no_vcs: bool,
    allow_staged: bool = False,
    own: Callable[[str, bytes, bytes], bool] = lambda path, before, after: False,
    options: bool = True,
) -> None:
    """Refuse a tree whose state before the port could not be brought back by git.

    The rules are those of ``cargo fix`` (``check_version_control`` in cargo's
    ``src/cargo/ops/fix/mod.rs``; tried with cargo 1.95): the whole repository counts, also where
    the root is a folder of it; untracked files are dirty, ignored ones are not; a file is staged
    when its changes lie in the index alone; a root that the repository ignores has no version
    control; ``allow_dirty`` includes ``allow_staged``. It differs, to the safe side, in two
    points: ``allow_no_vcs`` does not allow uncommitted changes, and only git counts as version
    control.

    Args:
        own: whether a change is a user's word to portkit, which is no change of the tree's: of a
            path below the root, what is committed, empty where nothing is, and what stands.
    """
    if allow_dirty and allow_no_vcs:
        return
    root = root.resolve()
    repository = find_repository(root)
    if repository is None or (root != repository.top and _is_ignored(root)):
        if allow_no_vcs:
            return
        raise DirtyTreeError(
            f"{root} is in no git repository, so the port could not be undone: run `git init` and"
            f" commit the tree{_suggest_option('--allow-no-vcs', options=options)}"
        )
    if allow_dirty:
        return
    try:
        dirty, staged = find_uncommitted(root)
    except ToolError as error:
        passed = _suggest_option("--allow-dirty and --allow-no-vcs", options=options)
        raise ToolError(f"{error}{passed}") from None
    if len(dirty) + len(staged) <= _LOOKED_AT:
        dirty, staged = (
            [
                path
                for path in paths
                if not _changes_only_decisions(root, repository.top / path, own)
            ]
            for paths in (dirty, staged)
        )
    if dirty:
        raise DirtyTreeError(
            f"{repository.top} has uncommitted changes ({list_paths(dirty)}): commit or stash"
            f" them{_suggest_option('--allow-dirty', options=options)}"
        )
    if staged and not allow_staged:
        raise DirtyTreeError(
            f"{repository.top} has staged changes ({list_paths(staged)}): commit or stash"
            f" them{_suggest_option('--allow-staged', options=options)}"
        )


def _suggest_option(option: str, *, options: bool) -> str:
    """Return the end of an error message, with the option that permits the operation."""
    return f", or pass {option}" if options else ""


def read_git_state(root: Path) -> GitState:
    """Return how far git could restore a tree as it is now."""
    root = root.resolve()
    repository = find_repository(root)
    try:
        if repository is None or (root != repository.top and _is_ignored(root)):
            return GitState.NOT
        return GitState.PART if any(find_uncommitted(root)) else GitState.WHOLE
    except ToolError:  # the user has said to write without what git would say
        return GitState.NOT


def find_uncommitted(root: Path) -> tuple[list[str], list[str]]:
    """Return the repository's dirty paths and those that are only staged, relative to its top."""
    # The format is porcelain v1 of git-status(1): two letters, a blank, a path, NUL.
    # In a submodule git would follow that repository's configuration: what lies in its work tree is
    # left to itself, as portkit writes there only where the workspace reaches into it.
    options = ("-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty")
    output = read_git(root, "status", "--porcelain=v1", *options)
    dirty: list[str] = []
    staged: list[str] = []
    for entry in output.split(b"\0"):
        if not entry:
            continue
        index, work_tree, path = entry[:1], entry[1:2], entry[3:]
        only_staged = index in (b"A", b"M", b"D", b"T") and work_tree == b" "
        (staged if only_staged else dirty).append(path.decode(errors="backslashreplace"))
    return dirty, staged


def _changes_only_decisions(
    root: Path, path: Path, own: Callable[[str, bytes, bytes], bool]
) -> bool:
    """Whether the uncommitted change of a file consists of decisions for portkit only."""
    try:
        after = read_regular(path, _LARGEST_OWN, follow=False)
        below = path.relative_to(root).as_posix()
    except (OSError, ValueError):  # it is gone, a folder, a link; or it lies outside the workspace
        return False
    committed = read_git(root, "cat-file", "blob", f"HEAD:./{below}", accept=(0, 128))
    return own(below, committed, after)


def _is_ignored(root: Path) -> bool:
    return read_git(root.parent, "check-ignore", "--", str(root), accept=(0, 1)) != b""


def list_paths(paths: Sequence[str]) -> str:
    """Return the first of some paths, and how many more there are."""
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
