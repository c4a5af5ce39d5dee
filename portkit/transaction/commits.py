"""Write changes as commits: first the objects, then the branch, the files and the index.

git runs no hook and no filter meanwhile (`portkit.workspace.git_runner`), so portkit itself decides
what a commit holds of a file: its bytes, with git's line ends if the work tree has others.

If something fails, the branch, the files and the index are as they were. A run that is killed after
the branch has moved, and before the files are written, leaves a tree that `git reset --hard`
completes: it was clean before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import BusyTreeError, DiskError, HistoryError
from portkit.syntax.value import Value
from portkit.transaction.transaction import write_plan
from portkit.workspace.git import check_idle
from portkit.workspace.git_output import find_commit, read_git, read_git_line, write_blobs
from portkit.workspace.git_repository import Repository, find_repository
from portkit.workspace.git_runner import query_config, read_identity, run_git

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.transaction.change import Change

_FORMAT: Final = (
    *("--numbered", "--start-number=1", "--subject-prefix=PATCH", "--suffix=.patch"),
    *("--no-signature", "--no-attach", "--no-cover-letter", "--no-thread", "--no-notes"),
    *("--no-to", "--no-cc", "--no-add-header", "--no-base", "--no-from", "--quiet"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--full-index", "--binary"),
    *("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
)
"""Options of git-format-patch(1) that count more than what anybody has configured."""


class Checkout(Value, frozen=True):
    """The commit and the branch that commits follow.

    Attributes:
        prefix: the root's place in it, empty or with ``/`` at its end.
        head: the hash of the commit that is checked out.
        branch: the full name of the branch that is checked out; empty if there is none.
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


class Commit(Value, frozen=True):
    """One commit of a series.

    Attributes:
        message: its subject, an empty line, and the rest.
        changes: against the commit before, as the work tree has the files.
    """

    message: str
    changes: tuple[Change, ...]


def open_checkout(root: Path, *, moves: bool) -> Checkout:
    """Return the checkout of a workspace that can take commits, on its branch if that moves.

    Raises:
        HistoryError: it can take none as it is; the sentence says what to do.
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
    head = find_commit(root, "HEAD")
    if not head:
        raise HistoryError(
            f"{repository.top} has no commit yet: commit the tree before the port, so that the"
            " series has something to begin at"
        )
    branch = read_git_line(root, "symbolic-ref", "--quiet", "HEAD", accept=(0, 1))
    if moves and not branch:
        raise HistoryError(
            f"no branch is checked out in {repository.top} (its HEAD is detached), so the commits"
            " would belong to none: run `git switch --create rocm`"
        )
    writer = read_identity(root)
    if moves and requires_signing(root):  # the program that signs is not run here
        raise HistoryError(
            f"{root} asks for signed commits (commit.gpgSign), which portkit does not make: write"
            " patches with --patches DIR, and `git am --gpg-sign DIR/*.patch` signs them"
        )
    prefix = read_git_line(root, "rev-parse", "--show-prefix")
    return Checkout(root, repository, prefix, head, branch, writer)


def requires_signing(root: Path) -> bool:
    """Whether the user has commits signed."""
    wanted = query_config(root, "--type=bool", "--get", "commit.gpgSign")
    return wanted.stdout.strip() == b"true"


def commit_series(
    checkout: Checkout,
    commits: Sequence[Commit],
    changes: Sequence[Change],
    *,
    by: str = "portkit apply --series",
) -> str:
    """Put commits on the branch that is checked out, and write the tree; return the last's hash.

    Args:
        checkout: the parent of the first commit; the tree is clean.
        commits: the series.
        changes: all changes of the series together.
        by: the command that the reflog names.

    Raises:
        PortkitError: something failed; the branch, the tree and the index are as they were.
    """
    root, branch, head = checkout.root, checkout.branch, checkout.head
    with _make_scratch() as folder:
        last = _write_objects(checkout, commits, folder)
        index = folder / "next"
        index.write_bytes(checkout.index.read_bytes())
        # -i: the files are not as the index will say before they are written (git-read-tree(1)).
        read_git(root, "read-tree", "-i", "-m", head, last, index=index)
        with _lock_index(checkout.index) as lock:
            read_git(root, "update-ref", "-m", by, branch, last, head)
            try:
                write_plan(root, changes)
            except BaseException:
                read_git(root, "update-ref", "-m", by, branch, head, last)
                raise
            try:
                lock.write_bytes(index.read_bytes())
                lock.replace(checkout.index)
            except OSError as error:
                raise DiskError(
                    "the series is committed and its files are written, but git's index"
                    f" {checkout.index} could not be written ({error.strerror}): fix that and run"
                    " `git reset`"
                ) from error
    # Without it the next `git status` would read every file that was written.
    run_git(root, "update-index", "-q", "--refresh")
    return last


def write_patches(checkout: Checkout, commits: Sequence[Commit], folder: Path) -> tuple[Path, ...]:
    """Write commits as files for ``git am`` into a new or empty folder, not into the repository.

    Raises:
        DiskError: the folder is not empty, or cannot be written.
        ToolError: git is missing or failed.
    """
    root, head = checkout.root, checkout.head
    with _make_scratch() as scratch:
        own = scratch / "objects"
        own.mkdir()
        common = root / read_git_line(root, "rev-parse", "--git-path", "objects")
        variables = {
            "GIT_OBJECT_DIRECTORY": str(own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common.resolve()),
        }
        last = _write_objects(checkout, commits, scratch, variables)
        made = scratch / "patches"
        options = ("format-patch", *_FORMAT, f"--output-directory={made}")
        read_git(root, *options, f"{head}..{last}", variables=variables)
        files = sorted(made.iterdir())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise DiskError(f"{folder} is not empty: name a new or an empty folder")
            for file in files:
                (folder / file.name).write_bytes(file.read_bytes())
        except OSError as error:
            for file in files:
                with contextlib.suppress(OSError):
                    (folder / file.name).unlink(missing_ok=True)
            raise DiskError(
                f"the patches could not be written to {folder} ({error.strerror}): name another"
                " folder"
            ) from error
    return tuple(folder / file.name for file in files)


def _write_objects(
    checkout: Checkout,
    commits: Sequence[Commit],
    scratch: Path,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Write the objects of commits, which nothing refers to yet; return the last one's hash."""
    index, top = scratch / "index", checkout.repository.top
    staged = [change for commit in commits for change in commit.changes]
    modes, converts = _read_modes_and_line_endings(checkout, staged)
    contents = [
        _normalize_line_ends(change.after) if change.path in converts else change.after
        for change in staged
    ]
    blobs = iter(write_blobs(checkout.root, contents, scratch, variables))
    read_git(top, "read-tree", checkout.head, index=index, variables=variables)
    parent = checkout.head
    for commit in commits:
        lines = "".join(
            f"{modes.get(change.path, '100644')} {next(blobs)}\t{checkout.prefix}{change.path}\0"
            for change in commit.changes
        )
        adding = ("update-index", "-z", "--add", "--index-info")
        read_git(top, *adding, index=index, given=os.fsencode(lines), variables=variables)
        tree = read_git_line(top, "write-tree", index=index, variables=variables)
        parent = read_git_line(
            top,
            *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-p", parent, tree),
            given=commit.message.encode(errors="replace"),
            variables={**checkout.identity, **(variables or {})},
        )
    return parent


def _read_modes_and_line_endings(
    checkout: Checkout, changes: Sequence[Change]
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return each committed file's mode, and the paths whose line ends git converts."""
    listed = read_git(checkout.root, "ls-tree", "-r", "-z", checkout.head, "--", ".").split(b"\0")
    entries = (entry.partition(b"\t") for entry in listed if entry)
    known = {os.fsdecode(path): head.decode().split() for head, _, path in entries}
    first: dict[str, Change] = {}
    for change in changes:
        first.setdefault(change.path, change)
    converts = set()
    for path, change in first.items():
        if change.before is None:
            continue
        blob = known.get(path, ["", "", ""])[2]
        if _hash_blob(change.before, blob) == blob:
            continue
        if _hash_blob(_normalize_line_ends(change.before), blob) != blob:
            raise HistoryError(
                f"{path} is not in git as it is in the work tree, so portkit cannot commit its"
                " change: commit the file first, or run `portkit apply` without --series and commit"
                " the result"
            )
        converts.add(path)
    if converts:  # new files are as the existing ones
        converts |= {path for path, change in first.items() if change.before is None}
    return {path: mode for path, (mode, *_) in known.items()}, frozenset(converts)


def _normalize_line_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _hash_blob(data: bytes, alike: str) -> str:
    """Return the name of a blob, with the hash function of another name (gitformat-pack(5))."""
    made = hashlib.sha256() if len(alike) == 64 else hashlib.sha1()
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()


@contextlib.contextmanager
def _lock_index(index: Path) -> Iterator[Path]:
    """Keep git from the index, as git itself does (git's ``lockfile.h``)."""
    lock = index.with_name("index.lock")
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise BusyTreeError(
            f"another git is at work ({lock} is there): wait until it has ended, or remove that"
            " file if none is; nothing was changed"
        ) from None
    except OSError as error:
        raise DiskError(
            f"{lock} cannot be written ({error.strerror}): check the folder's permissions and free"
            " space, and run portkit again; nothing was changed"
        ) from error
    try:
        yield lock
    finally:
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)


@contextlib.contextmanager
def _make_scratch() -> Iterator[Path]:
    try:
        with tempfile.TemporaryDirectory(prefix="portkit-") as folder:
            yield Path(folder)
    except OSError as error:
        raise DiskError(
            f"{error.filename or 'a file'} could not be written ({error.strerror}): free some space"
            " and run portkit again"
        ) from error
