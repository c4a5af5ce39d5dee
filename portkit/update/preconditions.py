"""Whether a repository is in a state in which its branch can be moved; nothing is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.errors import DirtyTreeError, HistoryError, ToolError
from portkit.syntax.value import Value
from portkit.transaction.commits import signs_commits
from portkit.update.repository import GitRepository
from portkit.workspace.cargo_workspace import check_folder
from portkit.workspace.git import check_idle, find_uncommitted, list_paths
from portkit.workspace.git_repository import find_repository

if TYPE_CHECKING:
    from pathlib import Path

_OLDEST: Final = (2, 38)
"""The first git with ``git merge-tree --write-tree`` (its release notes)."""

_HEADS: Final = "refs/heads/"


class MovableBranch(Value, frozen=True):
    """A repository whose branch can be moved.

    Attributes:
        vendor: the name of the branch of pure ports.
        tip: the hash of that branch's commit; empty where there is no such branch.
    """

    git: GitRepository
    root: Path
    branch: str
    head: str
    vendor: str
    tip: str
    signs: bool


def check_ready(root: Path, vendor: str) -> MovableBranch:
    """Return the repository of a workspace, whose branch can be moved."""
    found = open_repository(root, vendor)
    dirty, staged = find_uncommitted(found.root)
    if dirty or staged:
        raise DirtyTreeError(
            f"{found.git.top} has uncommitted changes ({list_paths([*dirty, *staged])}): commit or"
            " stash them, and run portkit again; nothing was changed"
        )
    found.git.identity()
    return found


def open_repository(root: Path, vendor: str) -> MovableBranch:
    """Return the repository of a workspace, which may have uncommitted changes and no author.

    It raises what ``ready`` raises, but for those.
    """
    check_folder(root)
    root = root.resolve()
    repository = find_repository(root)
    if repository is None:
        raise DirtyTreeError(
            f"{root} is in no git repository, so there is no history to merge upstream into: run"
            " `git init` and commit the tree as upstream published it"
        )
    top = repository.top
    below = root.relative_to(top).as_posix()
    git = GitRepository(top, "" if below == "." else f"{below}/")
    _check_version(git)
    check_idle(repository)
    if git.line("rev-parse", "--is-shallow-repository") == "true":
        raise HistoryError(
            f"{top} is a shallow clone, whose history may lack what the port was made from: run"
            " `git fetch --unshallow`, and portkit again; nothing was changed"
        )
    reference = git.line("symbolic-ref", "--quiet", "HEAD", accept=(0, 1))
    if not reference.startswith(_HEADS):
        raise HistoryError(
            f"{top} is on no branch (HEAD is detached), so there is none to merge into: run `git"
            " switch BRANCH`, and portkit again; nothing was changed"
        )
    branch = reference.removeprefix(_HEADS)
    head = git.commit_of("HEAD")
    if not head:
        raise HistoryError(f"{branch} of {top} has no commit yet: commit the tree first")
    _check_vendor(git, branch, vendor)
    tip = git.commit_of(_HEADS + vendor)
    return MovableBranch(git, root, branch, head, vendor, tip, signs_commits(git.top))


def _check_version(git: GitRepository) -> None:
    said = git.line("version")
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        raise ToolError(
            f"{said} is too old to merge without touching the work tree (`git merge-tree"
            f" --write-tree`): install git {'.'.join(map(str, _OLDEST))} or newer; nothing was"
            " changed"
        )


def _check_vendor(git: GitRepository, branch: str, vendor: str) -> None:
    if branch == vendor:
        raise HistoryError(
            f"{git.top} is on {vendor}, which is portkit's own: run `git switch` to the branch that"
            " is yours; nothing was changed"
        )
    place = f"branch {_HEADS}{vendor}"
    trees = git.run("worktree", "list", "--porcelain").decode(errors="replace")
    if place in trees.splitlines():
        raise HistoryError(
            f"{vendor} is checked out in another work tree of {git.top}, which would no longer"
            " agree with it: switch that one to another branch; nothing was changed"
        )
    folders = vendor.split("/")
    for count in range(1, len(folders)):
        name = "/".join(folders[:count])
        if git.commit_of(_HEADS + name):
            raise HistoryError(
                f"{git.top} has a branch {name}, and git can have none called {vendor} beside it:"
                f" rename it with `git branch --move {name} NEW`; nothing was changed"
            )
