"""The record of one writing to the user's tree, from which a killed run is finished or taken back.

A journal is a folder in the git directory, or in the user's state folder where there is no git. It
holds:

- the *record*, a JSON file that lists the paths with the SHA-256 of their contents before and
  after. It never changes; its **name** is the state (``State``), so that moving on is one rename.
- ``<n>.new``, the staged content of the n-th file. The file is written by renaming it over the
  target, so *it exists as long as the target has not been written*.
- ``<n>.old``, a second name (a hard link) of the n-th file as it was, or a copy where the file
  system has no links. Taking back is renaming it over the target, which needs no space.

A rename needs both names on one file system: where the journal lies on another one than the
target, the staged files lie in the tree instead, in the target's nearest existing folder, under
names that begin with ``.portkit-``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import DiskError, PortkitError
from portkit.paths import path_fault
from portkit.vcs import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.disk import Disk

FORMAT: Final = 1

# What closes a record's file, so that half of one is told from a whole one.
_END: Final = b"\nend\n"


class BusyTreeError(PortkitError):
    """Another portkit is writing to the tree."""

    exit_code = 22


class State(StrEnum):
    """How far a run has come; the value is the name of the record's file."""

    STAGING = "staging.json"
    """Contents are being staged; the tree is as it was."""
    COMMITTED = "committed.json"
    """All is staged and durable; files are being written."""
    ABORTED = "aborted.json"
    """The written files are being taken back."""
    DONE = "done.json"
    """The tree is finished or as it was; only the journal has to go."""


@dataclass(frozen=True, slots=True)
class Entry:
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


@dataclass(frozen=True, slots=True)
class Record:
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


@dataclass(frozen=True, slots=True)
class Journal:
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
        lock = self.folder.with_suffix(".lock")
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            if self.folder.parent.is_symlink():
                # A git directory that came in an archive could lead anywhere.
                raise OSError(errno.ELOOP, "it is a symbolic link")
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(lock, flags, 0o666)
        except OSError as error:
            raise DiskError(
                f"the journal of the run cannot be kept in {self.folder.parent}"
                f" ({error.strerror}): make that a writable folder; nothing was changed"
            ) from error
        try:
            if not _lock(descriptor):
                raise BusyTreeError(
                    f"another portkit is writing to {self.root}: wait until it has ended, then run"
                    " portkit again"
                )
            yield
        finally:
            os.close(descriptor)

    def begin(self, record: Record) -> None:
        """Write the record; nothing may be staged before this returns."""
        self.disk.make_folder(self.folder)
        self.disk.sync(self.folder.parent)
        place = self.folder / State.STAGING
        self.disk.write(place, json.dumps(asdict(record), indent=1).encode() + _END)
        self.disk.sync(place)
        self.disk.sync(self.folder)

    def advance(self, old: State, new: State) -> None:
        """Pass from one state to the next; both what came before and the passing are durable."""
        self.disk.sync(self.folder)
        self.disk.rename(self.folder / old, self.folder / new)
        self.disk.sync(self.folder)

    def exists(self) -> bool:
        """Whether a run has left something here."""
        return os.path.lexists(self.folder)

    def load(self) -> tuple[State, Record] | None:
        """Return what a killed run has left, or None where it had not yet touched the tree.

        Raises:
            DiskError: the journal is damaged or of a newer portkit; nothing was changed.
        """
        # A file of this name, or a link to somewhere else, is not ours.
        if self.folder.is_symlink() or not self.folder.is_dir():
            raise self._damaged("is not a folder")
        states = [state for state in State if (self.folder / state).is_file()]
        if not states:
            return None
        if len(states) > 1:
            raise self._damaged(f"holds both {states[0]} and {states[1]}")
        state = states[0]
        try:
            data = (self.folder / state).read_bytes()
        except OSError as error:
            raise self._damaged(f"cannot be read ({error.strerror})") from error
        if state is State.STAGING and not data.endswith(_END):
            # The record is durable before anything is staged: half a record means that the run
            # was killed while it wrote it.
            return None
        try:
            return state, _parse(data)
        except ValueError as error:
            raise self._damaged(f"has a damaged {state} ({error})") from error

    def staged(self, record: Record, number: int) -> Path:
        """Return the place of an entry's staged content."""
        return self._place(record, number, "new")

    def image(self, record: Record, number: int) -> Path:
        """Return the place where an entry's former file is kept."""
        return self._place(record, number, "old")

    def clear(self, record: Record | None) -> None:
        """Remove the journal; its record goes last, so that a killed removal is taken up again."""
        if record is not None:
            for number, entry in enumerate(record.entries):
                if entry.stage is not None:
                    self.disk.remove(self.staged(record, number))
                    self.disk.remove(self.image(record, number))
        states = set(State)
        for place in sorted(self.folder.iterdir(), key=lambda place: place.name in states):
            self.disk.remove(place)
        self.disk.remove_folder(self.folder)

    def _place(self, record: Record, number: int, suffix: str) -> Path:
        stage = record.entries[number].stage
        if stage is None:
            return self.folder / f"{number}.{suffix}"
        return self.root / stage / f".portkit-{record.run}-{number}.{suffix}"

    def _damaged(self, what: str) -> DiskError:
        return DiskError(
            f"the journal of a killed run, {self.folder}, {what}: look through the changes in"
            f" {self.root}, undo what should not stay, and delete that folder; nothing was changed"
        )


def journals(root: Path, disk: Disk) -> list[Journal]:
    """Return the places where a journal of this tree can be, the one for a new run first.

    There is none without a git directory and a home folder.

    In a git directory it is named after the root's place in the work tree, so that it survives a
    move of the repository; in the state folder (``$XDG_STATE_HOME``, else ``~/.local/state``, by
    the XDG base directory specification) after the root's absolute path.

    Args:
        root: the workspace root, absolute and without symbolic links.
        disk: the operations on the disk.
    """
    found = []
    if repository := find_repository(root):
        inside = root.relative_to(repository.top).as_posix()
        found.append(Journal(root, repository.git_dir / "portkit" / _key(inside), disk))
    if state := _state_home():
        found.append(Journal(root, state / "portkit" / _key(root.as_posix()), disk))
    return found


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _key(path: str) -> str:
    return sha256(os.fsencode(path))[:16]


def _state_home() -> Path | None:
    # The specification: a relative path is invalid and ignored.
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():
        return given
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:
        return None


def _lock(descriptor: int) -> bool:
    """Take an exclusive lock on an open file without waiting; return whether it was free."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        windows: Any = msvcrt  # typed only where it exists
        try:
            windows.locking(descriptor, windows.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parse(data: bytes) -> Record:
    """Return the record in a file; no path in it leads out of the tree by its text.

    Raises:
        ValueError: it is not a record, or not of this format.
    """
    try:
        value = json.loads(data.removesuffix(_END))
        if value["format"] != FORMAT:
            raise ValueError(f"its format is {value['format']}, not {FORMAT}")
        record = Record(
            str(value["root"]),
            value["run"],
            tuple(value["folders"]),
            tuple(Entry(**entry) for entry in value["entries"]),
        )
        for path in [*record.folders, *(entry.path for entry in record.entries)]:
            if fault := path_fault(path):
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
