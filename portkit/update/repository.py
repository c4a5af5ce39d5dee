"""The user's repository, as far as portkit writes commits into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.errors import HistoryError
from portkit.syntax.value import Value
from portkit.workspace.generated_ports import AUTHOR
from portkit.workspace.git_identity import read_committer, read_identity
from portkit.workspace.git_output import find_commit, read_git, read_git_line
from portkit.workspace.git_runner import run_git

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
        """Return what git prints."""
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
        """Return what a file holds in a commit or tree; none where there is no such file."""
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
