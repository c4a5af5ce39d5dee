"""The user's repository as it must stand before commits are written, and git asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.errors import HistoryError, ToolError
from portkit.syntax.value import Value
from portkit.workspace.git import check_idle
from portkit.workspace.git_identity import read_identity
from portkit.workspace.git_repository import Repository, find_repository
from portkit.workspace.git_runner import query_config, run_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Checkout(Value, frozen=True):
    """Where commits begin.

    Attributes:
        root: the workspace root, absolute.
        repository: the repository that holds it.
        prefix: the root's place in it, empty or with ``/`` at its end.
        head: the hash of the commit that is checked out.
        branch: the full name of the branch that is checked out; empty where none is.
        identity: variables that say who writes.
    """

    root: Path
    repository: Repository
    prefix: str
    head: str
    branch: str
    identity: Mapping[str, str]

    @property
    def index(self) -> Path:
        """The repository's index."""
        return self.repository.git_dir / "index"


def open_checkout(root: Path, *, moves: bool) -> Checkout:
    """Return where commits begin.

    Raises:
        HistoryError: it takes none as it stands; the sentence says what to do.
        ToolError: git is missing or failed.
    """
    root = root.resolve()
    repository = find_repository(root)
    if repository is None:
        raise HistoryError(
            f"{root} is in no git repository, so there is nothing to commit to: run `git init` and"
            " commit the tree as it was published"
        )
    check_idle(repository)
    head = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode != 0:
        raise HistoryError(
            f"{repository.top} has no commit yet: commit the tree before the port, so that the"
            " series has something to begin at"
        )
    branch = run_git(root, "symbolic-ref", "--quiet", "HEAD")
    if moves and branch.returncode != 0:
        raise HistoryError(
            f"no branch is checked out in {repository.top} (its HEAD is detached), so the commits"
            " would belong to none: run `git switch --create rocm`"
        )
    writer = read_identity(root)
    if moves:
        _check_signing(root)
    prefix = read_git_line(root, "rev-parse", "--show-prefix")
    name = branch.stdout.decode().strip()
    return Checkout(root, repository, prefix, head.stdout.decode().strip(), name, writer)


def read_git_line(
    root: Path, *arguments: str, index: Path | None = None, given: bytes = b""
) -> str:
    """Return what git prints, without the white space around it.

    Raises:
        ToolError: it failed.
    """
    return (
        read_git(root, *arguments, index=index, given=given)
        .decode(errors="surrogateescape")
        .strip()
    )


def read_git(
    root: Path,
    *arguments: str,
    index: Path | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
) -> bytes:
    """Return what git prints, as it is.

    Raises:
        ToolError: it failed.
    """
    ended = run_git(root, *arguments, index=index, given=given, variables=variables)
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="backslashreplace").strip().splitlines()
        raise ToolError(
            f"`git {arguments[0]}` failed in {root} ({(said or ['no message'])[0]}): mend the"
            " repository and run portkit again; nothing was changed"
        )
    return ended.stdout


def _check_signing(root: Path) -> None:
    """Refuse where commits are to be signed: the program that does it is not run here."""
    wanted = query_config(root, "--type=bool", "--get", "commit.gpgSign")
    if wanted.stdout.strip() == b"true":
        raise HistoryError(
            f"{root} asks for signed commits (commit.gpgSign), which portkit does not make: write"
            " patches with --patches DIR, and `git am --gpg-sign DIR/*.patch` signs them"
        )
