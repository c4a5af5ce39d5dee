"""Changes as commits: the objects first, out of sight, then the branch, the files and the index.

git runs nothing that the repository names meanwhile, no hook and no filter
(`portkit.workspace.git_runner`). What a commit holds of a file is said here: its bytes, with
git's line ends where the work tree has others.

Where something fails, the branch, the files and the index are as they were. A run that is killed
after the branch has moved, and before the files are written, leaves a tree that `git reset --hard`
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
from portkit.transaction.checkout import Checkout, read_git, read_git_line
from portkit.transaction.transaction import write_plan
from portkit.workspace.git_runner import run_git

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


class Commit(Value, frozen=True):
    """One commit of a series.

    Attributes:
        message: its subject, an empty line, and the rest.
        changes: against the commit before, as the work tree has the files.
    """

    message: str
    changes: tuple[Change, ...]


def commit_series(
    ground: Checkout,
    commits: Sequence[Commit],
    changes: Sequence[Change],
    *,
    by: str = "portkit apply --series",
) -> str:
    """Put commits on the branch that is checked out, and write the tree; return the last's hash.

    Raises:
        PortkitError: something failed; the branch, the tree and the index are as they were.
    """
    with _make_scratch() as folder:
        last = _write_objects(ground, commits, folder)
        index = folder / "next"
        index.write_bytes(ground.index.read_bytes())
        # -i: the files are not as the index will say before they are written (git-read-tree(1)).
        read_git_line(ground.root, "read-tree", "-i", "-m", ground.head, last, index=index)
        with _lock_index(ground.index) as lock:
            _move_branch(ground, ground.head, last, by)
            try:
                write_plan(ground.root, changes)
            except BaseException:
                _move_branch(ground, last, ground.head, by)
                raise
            _install_files(ground, index.read_bytes(), lock)
    # Without it the next `git status` would read every file that was written.
    run_git(ground.root, "update-index", "-q", "--refresh")
    return last


def write_patches(ground: Checkout, commits: Sequence[Commit], folder: Path) -> tuple[Path, ...]:
    """Write commits as files for ``git am``, and nothing into the repository.

    Raises:
        DiskError: it is neither, or cannot be written.
        ToolError: git is missing or failed.
    """
    with _make_scratch() as scratch:
        own = scratch / "objects"
        own.mkdir()
        common = Path(read_git_line(ground.root, "rev-parse", "--git-path", "objects"))
        variables = {
            "GIT_OBJECT_DIRECTORY": str(own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((ground.root / common).resolve()),
        }
        last = _write_objects(ground, commits, scratch, variables)
        made = scratch / "patches"
        read_git(
            ground.root,
            *("format-patch", *_FORMAT, f"--output-directory={made}", f"{ground.head}..{last}"),
            variables=variables,
        )
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
    ground: Checkout,
    commits: Sequence[Commit],
    scratch: Path,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Write the objects of commits, which nothing refers to yet; return the last one's hash."""
    index = scratch / "index"
    staged = [change for commit in commits for change in commit.changes]
    modes, converts = _read_modes(ground, staged)
    for number, change in enumerate(staged):
        (scratch / f"{number}.blob").write_bytes(_store_blob(change, converts))
    names = "".join(f"{scratch}/{number}.blob\n" for number in range(len(staged)))
    writing = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    blobs = iter(
        read_git(ground.root, *writing, given=os.fsencode(names), variables=variables).split()
    )
    top = ground.repository.top
    read_git(top, "read-tree", ground.head, index=index, variables=variables)
    parent = ground.head
    for commit in commits:
        lines = b"".join(
            f"{modes.get(change.path, '100644')} ".encode()
            + next(blobs)
            + b"\t"
            + os.fsencode(ground.prefix + change.path)
            + b"\0"
            for change in commit.changes
        )
        adding = ("update-index", "-z", "--add", "--index-info")
        read_git(top, *adding, index=index, given=lines, variables=variables)
        tree = read_git(top, "write-tree", index=index, variables=variables).decode().strip()
        parent = (
            read_git(
                top,
                *("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-p", parent, tree),
                given=commit.message.encode(errors="replace"),
                variables={**ground.identity, **(variables or {})},
            )
            .decode()
            .strip()
        )
    return parent


def _read_modes(
    ground: Checkout, changes: Sequence[Change]
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the modes of the files that are committed, and what has other line ends there.

    Raises:
        HistoryError: git has a file in another form than the work tree, or not at all.
    """
    listed = read_git(ground.root, "ls-tree", "-r", "-z", ground.head, "--", ".").split(b"\0")
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
                f"git has {path} in another form than the work tree, or not at all, so that no"
                " commit of it can be written: mend that, or run `portkit apply` without --series"
                " and commit what it writes"
            )
        converts.add(path)
    if converts:  # new files are as those that stand there
        converts |= {path for path, change in first.items() if change.before is None}
    return {path: mode for path, (mode, *_) in known.items()}, frozenset(converts)


def _store_blob(change: Change, converts: frozenset[str]) -> bytes:
    return _normalize_line_ends(change.after) if change.path in converts else change.after


def _normalize_line_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _hash_blob(data: bytes, alike: str) -> str:
    """Return the name of a blob, by the hash that another's name is of (gitformat-pack(5))."""
    made = hashlib.sha256() if len(alike) == 64 else hashlib.sha1()
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()


def _move_branch(ground: Checkout, old: str, new: str, by: str) -> None:
    moving = ("update-ref", "-m", by, ground.branch, new, old)
    read_git_line(ground.root, *moving)


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
            f"{lock} cannot be written ({error.strerror}): mend that; nothing was changed"
        ) from error
    try:
        yield lock
    finally:
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)


def _install_files(ground: Checkout, data: bytes, lock: Path) -> None:
    try:
        lock.write_bytes(data)
        lock.replace(ground.index)
    except OSError as error:
        raise DiskError(
            f"the series is committed and written, but {ground.index} is not ({error.strerror}):"
            " mend that and run `git reset`"
        ) from error


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
