"""The user's repository: git in it, whether its branch can be moved, and the move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from portkit.errors import DirtyTreeError, HistoryError, ToolError, TreeChangedError
from portkit.syntax.value import Value
from portkit.transaction.commits import requires_signing
from portkit.workspace.cargo_workspace import check_folder
from portkit.workspace.generated_ports import AUTHOR
from portkit.workspace.git import check_idle, find_uncommitted, list_paths
from portkit.workspace.git_output import find_commit, read_git, read_git_line
from portkit.workspace.git_repository import find_repository
from portkit.workspace.git_runner import (
    find_silenced_filters,
    read_committer,
    read_identity,
    run_git,
)


class GitRepository(Value, frozen=True):
    """git in a repository: plumbing that runs nothing of the repository's own.

    Attributes:
        below: the workspace below it, with ``/`` at its end; empty where it is the top.
    """

    top: Path
    below: str

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        index: Path | None = None,
        accept: Sequence[int] = (0,),
    ) -> bytes:
        """Return git's output."""
        return read_git(self.top, *arguments, given=given, index=index, accept=accept)

    def line(self, *arguments: str, accept: Sequence[int] = (0,)) -> str:
        """Return the one line that git prints; empty if it prints none."""
        return read_git_line(self.top, *arguments, accept=accept)

    def commit_of(self, revision: str) -> str:
        """Return the hash of the commit that a revision names; empty if it names none."""
        return find_commit(self.top, revision)

    def named(self, revision: str, option: str) -> str:
        """Return the hash of the commit that an option names."""
        if commit := self.commit_of(revision):
            return commit
        raise HistoryError(
            f"git knows no commit {revision} in {self.top}: fetch it and name it with {option}"
        )

    def tree_of(self, commit: str) -> str:
        """Return the hash of a commit's files."""
        return self.line("rev-parse", "--verify", f"{commit}^{{tree}}")

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit."""
        return self.line("rev-list", "--parents", "--max-count=1", commit).split()[1:]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether a commit is in the history of another."""
        self.run("rev-parse", "--verify", f"{older}^{{commit}}")
        return run_git(self.top, "merge-base", "--is-ancestor", older, newer).returncode == 0

    def bases(self, one: str, other: str) -> list[str]:
        """Return the best common ancestors of two commits."""
        return self.line("merge-base", "--all", one, other, accept=(0, 1)).split()

    def blob(self, revision: str, path: str) -> bytes | None:
        """Return the content of a file in a commit or tree, or None if it is missing."""
        done = run_git(self.top, "cat-file", "blob", f"{revision}:{path}")
        return done.stdout if done.returncode == 0 else None

    def paths(self, *arguments: str) -> list[str]:
        """Return the names that git prints, each ended by NUL."""
        # A file's name need not be Unicode.
        printed = self.run(*arguments).decode(errors="surrogateescape")
        return list(filter(None, printed.split("\0")))

    def commit(self, tree: str, parents: Sequence[str], message: str, *, pure: bool = False) -> str:
        """Write a commit, and return its hash; no branch is moved, nothing signed, no hook run."""
        variables = self.identity()
        if pure:
            committer = read_committer(self.top, variables)
            address = committer[committer.rindex("<") + 1 : committer.rindex(">")]
            variables |= {"GIT_AUTHOR_NAME": AUTHOR, "GIT_AUTHOR_EMAIL": address}
        options = [word for parent in parents for word in ("-p", parent)]
        return read_git_line(
            self.top, "commit-tree", tree, *options, given=message.encode(), variables=variables
        )

    def identity(self) -> dict[str, str]:
        """Return the variables under which git commits in the user's name, and makes up none."""
        return read_identity(self.top)


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
    return MovableBranch(git, root, branch, head, vendor, tip, requires_signing(git.top))


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
            f"{git.top} is on the branch {vendor}, which only portkit writes: run `git switch`"
            " with a branch of yours; nothing was changed"
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


def advance_branches(ready: MovableBranch, port: str, into: str) -> None:
    """Move the branch of generated ports, and the user's with its index and work tree."""
    _check_filters(ready, into)
    git, reference = ready.git, f"refs/heads/{ready.vendor}"
    reason = ("-m", "portkit update", "--create-reflog")
    none = "0" * len(port)
    if port != ready.tip:
        git.run("update-ref", *reason, reference, port, ready.tip or none)
    if into == ready.head:
        return
    options = ("--ff-only", "--no-stat", "--quiet", "--no-autostash", "--no-verify-signatures")
    done = run_git(
        git.top, *("merge", *options, "--no-overwrite-ignore", into), variables=git.identity()
    )
    if done.returncode == 0:
        return
    if port != ready.tip:
        back = ("-d", reference, port) if not ready.tip else (reference, ready.tip, port)
        git.run("update-ref", *back)
    said = [line.strip() for line in done.stderr.decode(errors="backslashreplace").splitlines()]
    files = [line for line in said[1:] if line and not line.endswith((":", ".", "Aborting"))]
    raise TreeChangedError(
        f"git would not move {ready.branch} ({' '.join(said[:1])} {list_paths(files)}): move"
        " away what"
        " is in the way and run portkit again; nothing was changed"
    )


def _check_filters(ready: MovableBranch, into: str) -> None:
    """Refuse to check out a file whose filter portkit does not run."""
    silenced = find_silenced_filters(ready.git.top)
    if not silenced:
        return
    changed = ready.git.run("diff-tree", "-r", "-z", "--name-only", ready.head, into)
    # Path, attribute and value, each ended by NUL (git-check-attr(1)).
    said = ready.git.run("check-attr", "-z", "--stdin", "filter", given=changed).split(b"\0")
    for path, value in zip(said[::3], said[2::3], strict=False):
        if value.decode(errors="replace") in silenced:
            raise HistoryError(
                f"{path.decode(errors='backslashreplace')} would be checked out by the filter"
                f" {value.decode()}, which only the configuration of {ready.git.top} names, and"
                " portkit runs nothing that a repository names: configure it for yourself with `git"
                " config --global`; nothing was changed"
            )
