"""The record of one writing to the user's tree, from which a killed run is finished or taken back.

A journal is a folder in the git directory, or in the user's state folder where there is no git. It
holds:

- the *record*, a JSON file that lists the paths with the SHA-256 of their contents before and
  after. It never changes; its **name** is the state (``State``), so that a change of state is one
  rename, which needs no space.
- ``<n>.new``, the staged content of the n-th file. The file is written by renaming it over the
  target, so *it exists as long as the target has not been written*.
- ``<n>.old``, a second name (a hard link) of the n-th file as it was, or a copy where the file
  system has no links. Taking back is renaming it over the target, so *it exists as long as the
  target has not been taken back*.

A rename needs both names on one file system: where the journal lies on another one than the
target, the staged files lie in the tree instead, in the target's nearest existing folder, under
names that begin with ``.portkit-``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import field, to_builtins

from portkit.cache import state_folder, take_lock
from portkit.errors import BusyTreeError, DiskError
from portkit.syntax.value import Value
from portkit.workspace.git_repository import find_repository
from portkit.workspace.path_checks import find_path_fault
from portkit.workspace.regular_files import is_present, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from portkit.transaction.disk import Disk

FORMAT: Final = 1

_LINK: Final = "it is a symbolic link"
_OPEN: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)

LARGEST_RECORD: Final = 64 << 20
"""How many bytes a record may have; one of the largest port seen has some 50,000."""


class State(StrEnum):
    """Whether the tree depends on the journal; the value is the name of the record's file."""

    STAGING = "staging.json"
    """Contents are being staged, or are no longer needed; the tree is whole without them."""
    COMMITTED = "committed.json"
    """Files are being written, or taken back."""


class Entry(Value, frozen=True):
    """One file of the record.

    Attributes:
        path: the file, relative to the root, with ``/``.
        before: SHA-256 of what it held, or None where it did not exist.
        after: SHA-256 of what it is to hold.
        stage: the folder of the tree in which it is staged, relative to the root (empty: the root
            itself), or None where that is the journal's folder.
    """

    path: str
    before: str | None
    after: str
    stage: str | None = None


class Record(Value, frozen=True):
    """What a run is about to do.

    Attributes:
        root: the workspace root, for a reader; the tree may have been moved since.
        run: hexadecimal digits that no other run has.
        folders: the folders that the run makes, outer ones first.
        entries: the files.
    """

    root: str
    run: str
    folders: tuple[str, ...]
    entries: tuple[Entry, ...]
    format: int = field(default=FORMAT)


class Journal(Value, frozen=True):
    """The journal of one workspace root in one place."""

    root: Path
    folder: Path
    disk: Disk

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from this tree; the system lets go when the process dies.

        The empty lock file beside the folder stays: to remove it safely would need another lock.

        Raises:
            BusyTreeError: another process holds the lock.
            DiskError: the lock cannot be made.
        """
        self.check()
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            if self.folder.parent.is_symlink():
                # A git directory that came in an archive could lead anywhere.
                raise OSError(errno.ELOOP, _LINK)
            descriptor = os.open(self._lock_file, _OPEN | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._take(descriptor)
            yield
        finally:
            # Closed it is also where that is answered by an error (close(2)).
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def check(self) -> None:
        """Refuse a place in which no run could be recorded, as far as looking tells.

        Raises:
            BusyTreeError: another process holds the lock.
            DiskError: the lock could not be made, or the folder.
        """
        try:
            self._check_folder()
            if not is_present(self._lock_file):
                return
            descriptor = os.open(self._lock_file, _OPEN)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            # Two that look do not stand in each other's way.
            self._take(descriptor, shared=True)
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def begin(self, record: Record) -> None:
        """Write the record; nothing may be staged before this returns."""
        import json

        self.disk.make_folder(self.folder)
        self.disk.sync(self.folder.parent)
        place = self.folder / State.STAGING
        # One line: a file without its line end is half a record.
        self.disk.write(place, json.dumps(to_builtins(record)).encode() + b"\n")
        self.disk.sync(place)
        self.disk.sync(self.folder)

    def commit(self) -> None:
        """Enter the state in which the tree depends on the journal."""
        self._pass(State.STAGING, State.COMMITTED)

    def release(self) -> None:
        """Leave that state: all files are written, or all are taken back."""
        self._pass(State.COMMITTED, State.STAGING)

    def exists(self) -> bool:
        """Whether a run has left something here.

        Raises:
            DiskError: the disk does not tell.
        """
        try:
            return is_present(self.folder)
        except OSError as error:
            raise self._unread(error) from error

    def load(self) -> tuple[State, Record] | None:
        """Return what a killed run has left, or None where it had not begun to stage.

        Raises:
            DiskError: the journal is damaged, of another portkit, or cannot be read; nothing was
                changed.
        """
        try:
            # A file of this name, or a link to somewhere else, is not ours.
            if not stat.S_ISDIR(self.folder.lstat().st_mode):
                raise self._damaged("is not a folder")
            # A record that is overlooked would be taken for a run that had not begun.
            states = [state for state in State if is_present(self.folder / state)]
        except OSError as error:
            raise self._unread(error) from error
        if not states:
            return None
        if len(states) > 1:
            raise self._damaged(f"holds both {states[0]} and {states[1]}")
        state = states[0]
        try:
            data = read_regular(self.folder / state, LARGEST_RECORD, follow=False)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EFBIG, errno.ELOOP):
                raise self._damaged(f"cannot be read ({error.strerror})") from error
            raise self._unread(error) from error
        if state is State.STAGING and not data.endswith(b"\n"):
            # The record is durable before anything is staged, so the run was killed before that.
            return None
        try:
            return state, _parse_record(data)
        except ValueError as error:
            raise self._damaged(f"has a damaged {state} ({error})") from error

    def staged(self, record: Record, number: int) -> Path:
        """Return the place of an entry's staged content."""
        return self._place(record, number, "new")

    def image(self, record: Record, number: int) -> Path:
        """Return the place where an entry's former file is kept."""
        return self._place(record, number, "old")

    def clear(self, record: Record | None) -> None:
        """Remove the journal, after what the record alone tells of: files that lie in the tree."""
        if record is not None:
            for number, entry in enumerate(record.entries):
                if entry.stage is not None:
                    self.disk.remove(self.staged(record, number))
                    self.disk.remove(self.image(record, number))
        for place in sorted(self.folder.iterdir()):
            self.disk.remove(place)
        self.disk.remove_folder(self.folder)

    @property
    def _lock_file(self) -> Path:
        return self.folder.with_suffix(".lock")

    def _check_folder(self) -> None:
        """Refuse a place in which the folder of the lock is not and cannot be made.

        Raises:
            OSError: that is so; what it says is the end of a sentence.
        """
        parent = nearest = self.folder.parent
        if parent.is_symlink():
            raise OSError(errno.ELOOP, _LINK)
        while not is_present(nearest):
            nearest = nearest.parent
        if not nearest.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    def _take(self, descriptor: int, *, shared: bool = False) -> None:
        """Take the lock, for as long as its file is open.

        Raises:
            BusyTreeError: another process has it.
            DiskError: the file system has no locks.
        """
        try:
            take_lock(descriptor, shared=shared)
        except BlockingIOError as error:
            raise BusyTreeError(
                f"another portkit is writing to {self.root}: wait until it has ended, then run"
                " portkit again"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _pass(self, old: State, new: State) -> None:
        # What came before is durable before the passing is, and that before anything that follows.
        self.disk.sync(self.folder)
        self.disk.rename(self.folder / old, self.folder / new)
        self.disk.sync(self.folder)

    def _place(self, record: Record, number: int, suffix: str) -> Path:
        stage = record.entries[number].stage
        if stage is None:
            return self.folder / f"{number}.{suffix}"
        return self.root / stage / f".portkit-{record.run}-{number}.{suffix}"

    def _unusable(self, error: OSError) -> DiskError:
        return DiskError(
            f"the journal of the run cannot be kept in {self.folder.parent} ({error.strerror}):"
            " make that a writable folder; nothing was changed"
        )

    def _unread(self, error: OSError) -> DiskError:
        return DiskError(
            f"the journal of a run, {self.folder}, cannot be read ({error.strerror}): mend that and"
            " run portkit again, which ends that run; nothing was changed"
        )

    def _damaged(self, what: str) -> DiskError:
        return DiskError(
            f"the journal of a killed run, {self.folder}, {what}: look through the changes in"
            f" {self.root}, undo what should not stay, and delete that folder; nothing was changed"
        )


def find_journals(root: Path, disk: Disk) -> list[Journal]:
    """Return the places where a journal of this tree can be, the one for a new run first.

    There is none without a git directory and a home folder.

    In a git directory it is named after the root's place in the work tree, so that it survives a
    move of the repository; in the state folder (``$XDG_STATE_HOME``, else ``~/.local/state``, by
    the XDG base directory specification) after the root's absolute path.
    """
    found = []
    if repository := find_repository(root):
        inside = root.relative_to(repository.top).as_posix()
        found.append(Journal(root, repository.git_dir / "portkit" / _hash_root(inside), disk))
    if state := state_folder():
        found.append(Journal(root, state / _hash_root(root.as_posix()), disk))
    return found


def is_unfinished(root: Path, disk: Disk) -> bool:
    """Whether a run is writing to a tree, or was killed meanwhile: it may be written in part."""
    places = find_journals(root.resolve(), disk)
    return any(os.path.lexists(place.folder / State.COMMITTED) for place in places)


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _hash_root(path: str) -> str:
    return hash_bytes(os.fsencode(path))[:16]


def _parse_record(data: bytes) -> Record:
    """Return the record in a file; no path in it leads out of the tree by its text.

    Raises:
        ValueError: it is not a record, or not of this format.
    """
    import json

    try:
        value = json.loads(data)
        if value["format"] != FORMAT:
            raise ValueError(f"its format is {value['format']}, not {FORMAT}")
        record = Record(
            str(value["root"]),
            value["run"],
            tuple(value["folders"]),
            tuple(Entry(**entry) for entry in value["entries"]),
        )
        for path in [*record.folders, *(entry.path for entry in record.entries)]:
            if fault := find_path_fault(path):
                raise ValueError(f"a path {fault}")
        for entry in record.entries:
            if entry.stage and not entry.path.startswith(f"{entry.stage}/"):
                raise ValueError("a file is not staged beside its target")
        digests = [entry.after for entry in record.entries]
        digests += [entry.before for entry in record.entries if entry.before is not None]
        if not all(re.fullmatch("[0-9a-f]+", digest) for digest in [record.run, *digests]):
            raise ValueError("a digest is malformed")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not a record of portkit") from error
    return record
