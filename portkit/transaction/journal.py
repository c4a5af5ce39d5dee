"""The record of one run, from which a killed run is finished or rolled back.

A journal is a folder in the git directory, or in the user's state folder if there is no git:

- The *record* is a JSON file that lists the paths with the SHA-256 of their contents before and
  after. It never changes. Its **name** is the state (``State``), so a change of state is one
  rename, which needs no space.
- ``<n>.new`` is the staged content of the n-th file. Writing the target uses it up, so *it exists
  as long as the target is not written*.
- ``<n>.old`` is a hard link of the n-th file as it was, or a copy if the file system has no links.
  Rolling back uses it up, so *it exists as long as the target is not rolled back*.

A rename needs both names on one file system. If the journal is on another one than the target,
these files are in the nearest existing folder of the target, under names that begin with
``.portkit-``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from portkit.cache import state_folder, take_lock
from portkit.errors import BusyTreeError, DiskError
from portkit.syntax.value import Value
from portkit.workspace.git_repository import find_repository
from portkit.workspace.path_checks import find_path_fault
from portkit.workspace.regular_files import is_present, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.transaction.disk import Disk

FORMAT: Final = 1

_LINK: Final = "it is a symbolic link"
_OPEN: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)

LARGEST_RECORD: Final = 64 << 20
"""How many bytes a record may have; one of the largest port seen has some 50,000."""

Hex = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]+$")]


class State(StrEnum):
    """Whether the tree depends on the journal; the value is the name of the record's file."""

    STAGING = "staging.json"
    """Contents are being staged, or are no longer needed; the tree is whole without them."""
    COMMITTED = "committed.json"
    """Files are being written or rolled back."""


class Entry(Value, frozen=True, forbid_unknown_fields=True):
    """One file of the record.

    Attributes:
        path: the file, relative to the root, with ``/``.
        before: SHA-256 of what it held, or None if it did not exist.
        after: SHA-256 of what it is to hold.
        stage: the folder of the tree in which it is staged, relative to the root, or None if that
            is the journal's folder.
    """

    path: str
    before: Hex | None
    after: Hex
    stage: str | None = None


class Record(Value, frozen=True, forbid_unknown_fields=True):
    """The changes of a run.

    Attributes:
        root: the workspace root, for a reader; the tree may have been moved since.
        run: hexadecimal digits that no other run has.
        folders: the folders that the run makes, outer ones first.
    """

    root: str
    run: Hex
    folders: tuple[str, ...]
    entries: tuple[Entry, ...]
    format: int = FORMAT


class Journal(Value, frozen=True):
    """The journal of one workspace root in one place."""

    root: Path
    folder: Path
    disk: Disk

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from this tree until the context or the process ends.

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
        except OSError as error:
            raise self._make_place_error(error) from error
        with self._hold_lock(_OPEN | os.O_CREAT):
            yield

    def check(self) -> None:
        """Refuse a place in which no run could be recorded, without writing there.

        Raises:
            BusyTreeError: another process holds the lock.
            DiskError: the lock could not be made, or the folder.
        """
        try:
            self._check_folder()
            if not is_present(self._lock_file):
                return
        except OSError as error:
            raise self._make_place_error(error) from error
        with self._hold_lock(_OPEN, shared=True):  # two checks at once are no conflict
            pass

    def begin(self, record: Record) -> None:
        """Write the record; nothing may be staged before this returns."""
        import json

        self.disk.make_folder(self.folder)
        self.disk.sync(self.folder.parent)
        place = self.folder / State.STAGING
        # One line: a file without its line end is half a record.
        self.disk.write(place, json.dumps(msgspec.to_builtins(record)).encode() + b"\n")
        self.disk.sync(place)
        self.disk.sync(self.folder)

    def commit(self) -> None:
        """Enter the state in which the tree depends on the journal."""
        self._change_state(State.STAGING, State.COMMITTED)

    def release(self) -> None:
        """Leave that state: all files are written, or all are rolled back."""
        self._change_state(State.COMMITTED, State.STAGING)

    def exists(self) -> bool:
        """Whether a run has left something here."""
        try:
            return is_present(self.folder)
        except OSError as error:
            raise self._make_read_error(error) from error

    def load(self) -> tuple[State, Record] | None:
        """Return what a killed run has left, or None if it had not begun to stage.

        Raises:
            DiskError: the journal is damaged, has another format, or cannot be read.
        """
        try:
            # A file of this name, or a link to somewhere else, is not ours.
            if not stat.S_ISDIR(self.folder.lstat().st_mode):
                raise self._make_damage_error("is not a folder")
            # An overlooked record would look like a run that had not begun.
            states = [state for state in State if is_present(self.folder / state)]
            if not states:
                return None
            if len(states) > 1:
                raise self._make_damage_error(f"holds both {states[0]} and {states[1]}")
            data = read_regular(self.folder / states[0], LARGEST_RECORD, follow=False)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EFBIG, errno.ELOOP):
                raise self._make_damage_error(f"cannot be read ({error.strerror})") from error
            raise self._make_read_error(error) from error
        if states[0] is State.STAGING and not data.endswith(b"\n"):
            # The record is durable before anything is staged, so the run was killed before that.
            return None
        try:
            return states[0], _parse_record(data)
        except (ValueError, RecursionError) as error:
            raise self._make_damage_error(f"has a damaged {states[0]} ({error})") from error

    def staged(self, record: Record, number: int) -> Path:
        """Return the place of an entry's staged content."""
        return self._locate(record, number, "new")

    def image(self, record: Record, number: int) -> Path:
        """Return the place of an entry's former file."""
        return self._locate(record, number, "old")

    def clear(self, record: Record | None) -> None:
        """Remove the journal, and first its files in the tree, which only the record names."""
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
        """Raise an OSError if the folder of the lock cannot be made."""
        parent = nearest = self.folder.parent
        if parent.is_symlink():
            raise OSError(errno.ELOOP, _LINK)
        while not is_present(nearest):
            nearest = nearest.parent
        code = 0
        if not nearest.is_dir():
            code = errno.ENOTDIR
        elif not os.access(nearest, os.W_OK | os.X_OK):
            code = errno.EACCES
        if code:
            raise OSError(code, os.strerror(code))

    @contextlib.contextmanager
    def _hold_lock(self, flags: int, *, shared: bool = False) -> Iterator[None]:
        try:
            descriptor = os.open(self._lock_file, flags, 0o666)
        except OSError as error:
            raise self._make_place_error(error) from error
        try:
            try:
                take_lock(descriptor, shared=shared)
            except BlockingIOError as error:
                raise BusyTreeError(
                    f"another portkit is writing to {self.root}: wait until it has ended, then run"
                    " portkit again"
                ) from error
            except OSError as error:  # this file system has no locks
                raise self._make_place_error(error) from error
            yield
        finally:
            # The file is closed even if that fails (close(2)).
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _change_state(self, old: State, new: State) -> None:
        # What came before is durable before the change is, and that before anything that follows.
        self.disk.sync(self.folder)
        self.disk.rename(self.folder / old, self.folder / new)
        self.disk.sync(self.folder)

    def _locate(self, record: Record, number: int, suffix: str) -> Path:
        stage = record.entries[number].stage
        if stage is None:
            return self.folder / f"{number}.{suffix}"
        return self.root / stage / f".portkit-{record.run}-{number}.{suffix}"

    def _make_place_error(self, error: OSError) -> DiskError:
        return DiskError(
            f"the journal of the run cannot be kept in {self.folder.parent} ({error.strerror}):"
            " make that a writable folder; nothing was changed"
        )

    def _make_read_error(self, error: OSError) -> DiskError:
        return DiskError(
            f"the journal of a run, {self.folder}, cannot be read ({error.strerror}): mend that and"
            " run portkit again, which ends that run; nothing was changed"
        )

    def _make_damage_error(self, what: str) -> DiskError:
        return DiskError(
            f"an earlier run was killed, and its journal {self.folder} {what}: undo the changes in"
            f" {self.root} that should not stay, and delete that folder; now nothing was changed"
        )


def find_journals(root: Path, disk: Disk) -> list[Journal]:
    """Return the places where a journal of this tree can be, the one for a new run first.

    Without a git directory and a home folder there is none. In a git directory the journal is named
    after the root's place in the work tree, so that it survives a move of the repository; in the
    state folder (``$XDG_STATE_HOME``, else ``~/.local/state``) after the root's absolute path.

    Args:
        root: the workspace root, absolute and without symbolic links.
        disk: the operations on the disk.
    """
    found = []
    if repository := find_repository(root):
        inside = root.relative_to(repository.top).as_posix()
        found.append(Journal(root, repository.git_dir / "portkit" / _hash_path(inside), disk))
    if state := state_folder():
        found.append(Journal(root, state / _hash_path(root.as_posix()), disk))
    return found


def is_unfinished(root: Path, disk: Disk) -> bool:
    """Whether a run is writing to a tree, or was killed meanwhile: it may be written in part."""
    places = find_journals(root.resolve(), disk)
    return any(os.path.lexists(place.folder / State.COMMITTED) for place in places)


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _hash_path(path: str) -> str:
    return hash_bytes(os.fsencode(path))[:16]


def _parse_record(data: bytes) -> Record:
    """Return the record in a file; no path in it leads out of the tree by its text.

    Raises:
        ValueError: it is not a record of this format.
    """
    record = msgspec.json.decode(data, type=Record)
    if record.format != FORMAT:
        raise ValueError(f"its format is {record.format}, not {FORMAT}")
    for path in (*record.folders, *(entry.path for entry in record.entries)):
        if fault := find_path_fault(path):
            raise ValueError(f"a path {fault}")
    if any(e.stage and not e.path.startswith(f"{e.stage}/") for e in record.entries):
        raise ValueError("a file is not staged beside its target")
    return record
