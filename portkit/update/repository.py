"""The user's repository, as far as portkit writes commits into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.errors import HistoryError, ToolError
from portkit.syntax.value import Value
from portkit.workspace.generated_ports import AUTHOR
from portkit.workspace.git_identity import read_committer, read_identity
from portkit.workspace.git_runner import run_git

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class GitRepository(Value, frozen=True):
    """git in a repository: plumbing that runs nothing of the repository's own.

    Attributes:
        top: the work tree's top folder.
        below: the workspace below it, with ``/`` at its end; empty where it is the top.
    """

    top: Path
    below: str

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        index: Path | None = None,
        variables: Mapping[str, str] | None = None,
        accept: Sequence[int] = (0,),
    ) -> bytes:
        """Return what git prints."""
        done = run_git(self.top, *arguments, given=given, index=index, variables=variables)
        if done.returncode not in accept:
            said = done.stderr.decode(errors="backslashreplace").strip().splitlines()
            raise ToolError(
                f"`git {arguments[0]}` failed in {self.top}"
                f" ({said[0] if said else 'no message'}): mend the repository and run portkit again"
            )
        return done.stdout

    def line(self, *arguments: str, accept: Sequence[int] = (0,)) -> str:
        """Return the one line that git prints; empty where it prints none."""
        return self.run(*arguments, accept=accept).decode(errors="surrogateescape").strip()

    def commit_of(self, revision: str) -> str:
        """Return the hash of the commit that a revision names; empty where it names none."""
        peeled = f"{revision}^{{commit}}"
        options = ("--verify", "--quiet", "--end-of-options")
        return self.line("rev-parse", *options, peeled, accept=(0, 1, 128))

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
        done = run_git(self.top, "merge-base", "--is-ancestor", older, newer)
        return done.returncode == 0

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
        arguments = ("commit-tree", tree, *options)
        return self.run(*arguments, given=message.encode(), variables=variables).decode().strip()

    def identity(self) -> dict[str, str]:
        """Return the variables under which git commits in the user's name, and makes up none."""
        return read_identity(self.top)
