"""Plan -> tree: the only module that writes into the user's tree.

It writes all or nothing, also when the process is killed at any instant or the disk fills up:

1. Every file is compared with the content that the plan was made from.
2. A record of the run is written to the journal (``portkit.write.journal``).
3. The new contents are staged on the same file system as their targets.
4. The record is renamed to *committed*. A run that is killed before has not touched the tree; one
   that is killed after is finished by the next run.
5. Each staged file changes places with its target, what was there is looked at, and the journal is
   removed (``portkit.write.settle``).

If that fails, or the run is interrupted from the keyboard, what was written is taken back; a
run that is killed meanwhile is taken back by the next run.

What step *n* relies on is made durable (fsync) before step *n*: the record before staging, the
staged files before the commit, the renames before the journal goes. So a loss of power is as
harmless as a killed process, as far as the drive keeps its promise.

A file keeps its permissions and, where the system allows, its owner, but becomes a new file: other
hard links to it keep the old content, and extended attributes are not carried over.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

from portkit.errors import DiskError, PlanError, TreeChangedError
from portkit.lang.value import Value
from portkit.tree.git import check_clean
from portkit.tree.paths import locate
from portkit.write.disk import Disk
from portkit.write.journal import Entry, Journal, Record, journals, sha256
from portkit.write.settle import Recovery, count, parents, remedy, settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Change", "Recovery", "check_clean", "recover", "write"]

_DISK: Final = Disk()


class Change(Value, frozen=True):
    """One file of the plan.

    Attributes:
        path: the file, relative to the workspace root, with ``/``.
        before: the content that the plan was made from; None: the file must not exist.
        after: the new content.
    """

    path: str
    before: bytes | None
    after: bytes


def write(root: Path, changes: Sequence[Change], *, disk: Disk = _DISK) -> None:
    """Write the files of a plan, all of them or none.

    Changes that change nothing are passed over. Folders are made as needed.

    Args:
        root: the workspace root.
        changes: at most one for each path.
        disk: the operations on the disk; tests give one that fails.

    Raises:
        PlanError: two changes cannot both be made.
        OutsideTreeError: a path leaves the tree or leads through a symbolic link.
        TreeChangedError: a file is not as the plan saw it, or it or its folder is read-only.
        BusyTreeError: another portkit is writing to the tree.
        DiskError: the disk is full, or a file could not be written.
    """
    changes = [change for change in changes if change.before != change.after]
    if not changes:
        return
    _check_paths([change.path for change in changes])
    root = root.resolve()
    places = journals(root, disk)
    if not places:
        raise DiskError(
            f"there is no place for the journal of the run: make {root} a git repository, or set"
            " HOME or XDG_STATE_HOME"
        )
    journal = places[0]
    with journal.locked():
        if journal.exists():
            settle(journal)
        seen = [_verify(root, change) for change in changes]
        record: Record | None = None
        try:
            record = _record(journal, changes)
            journal.begin(record)
            _stage(journal, record, changes, seen)
            journal.commit()
        except BaseException as error:
            with contextlib.suppress(OSError):
                journal.clear(record)
            if isinstance(error, OSError):
                raise DiskError(
                    f"{count(changes)} could not be staged in {journal.folder}"
                    f" ({error.strerror}): {remedy(error)} and run portkit again; nothing was"
                    " changed"
                ) from error
            raise
        outcome = settle(journal)
    if outcome is None or not outcome.finished:
        raise DiskError(
            f"the files staged in {journal.folder} were disturbed: run portkit again; nothing was"
            " changed"
        )


def recover(root: Path, *, disk: Disk = _DISK) -> Recovery | None:
    """Finish or take back what a killed run has left; do so before the tree is judged dirty.

    A run that had committed is finished. It is taken back instead where files were edited or put
    back since; edits are never overwritten. Recovery may itself be killed at any instant.

    Args:
        root: the workspace root.
        disk: the operations on the disk; tests give one that fails.

    Returns:
        What was done, or None where nothing was to be done.

    Raises:
        TreeChangedError: a file was edited since; the sentence says what became of the run.
        BusyTreeError: the run is not dead, or another portkit is recovering it.
        DiskError: the journal is damaged, or the disk failed.
    """
    outcome = None
    for journal in journals(root.resolve(), disk):
        if journal.exists():
            with journal.locked():
                # The run may have ended between the two looks.
                if journal.exists():
                    outcome = settle(journal) or outcome
    return outcome


def _check_paths(paths: list[str]) -> None:
    """Refuse a path that is named twice or is a file here and a folder there."""
    known = set(paths)
    if len(known) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise PlanError(f"the plan writes {twice} twice: report this as a defect of portkit")
    for path in paths:
        for folder in parents(path):
            if folder in known:
                raise PlanError(
                    f"the plan writes {folder} both as a file and as the folder of {path}: report"
                    " this as a defect of portkit"
                )


def _verify(root: Path, change: Change) -> os.stat_result | None:
    """Return the status of the file that a change replaces, if that file is as the plan saw it.

    Raises:
        OutsideTreeError: as ``locate``.
        TreeChangedError: it is not, or cannot be replaced.
    """
    path = change.path
    try:
        place = locate(root, path)
        folder = _nearest_folder(root, place)
        if not folder.is_dir():
            raise TreeChangedError(
                f"{folder}, which is to hold {path}, is not a folder: move it away and run portkit"
                " again; nothing was changed"
            )
        if not _is_writable(folder):
            raise TreeChangedError(
                f"the folder {folder} is read-only, so {path} cannot be written: make it writable"
                " and run portkit again; nothing was changed"
            )
        if not os.path.lexists(place):
            if change.before is None:
                return None
            raise TreeChangedError(
                f"{path} vanished since portkit read it: run portkit again; nothing was changed"
            )
        status = place.lstat()
        if change.before is None or not stat.S_ISREG(status.st_mode):
            raise TreeChangedError(
                f"{path} stands where portkit was to write a file: move it away and run portkit"
                " again; nothing was changed"
            )
        if not _is_writable(place):
            raise TreeChangedError(
                f"{path} is read-only: make it writable and run portkit again; nothing was changed"
            )
        if place.read_bytes() != change.before:
            raise TreeChangedError(
                f"{path} changed since portkit read it: run portkit again; nothing was changed"
            )
    except OSError as error:
        raise TreeChangedError(
            f"{path} cannot be examined ({error.strerror}): mend that and run portkit again;"
            " nothing was changed"
        ) from error
    return status


def _is_writable(place: Path) -> bool:
    """Whether a file or folder may be written to.

    Root may write anything; but what nobody may write was made read-only on purpose.
    """
    return bool(place.stat().st_mode & 0o222) and os.access(place, os.W_OK)


def _record(journal: Journal, changes: Sequence[Change]) -> Record:
    root = journal.root
    folders: set[str] = set()
    entries = []
    for change in changes:
        folders.update(name for name in parents(change.path) if not (root / name).is_dir())
        before = None if change.before is None else sha256(change.before)
        stage = None
        nearest = _nearest_folder(root, root / change.path)
        if not _same_file_system(journal.folder.parent, nearest):
            stage = "/".join(nearest.relative_to(root).parts)
        entries.append(Entry(change.path, before, sha256(change.after), stage))
    return Record(str(root), os.urandom(4).hex(), tuple(sorted(folders)), tuple(entries))


def _stage(
    journal: Journal,
    record: Record,
    changes: Sequence[Change],
    seen: Sequence[os.stat_result | None],
) -> None:
    """Write the new contents and keep the old files, durably, without touching a target."""
    disk = journal.disk
    copies = []
    for number, (change, status) in enumerate(zip(changes, seen, strict=True)):
        staged = journal.staged(record, number)
        disk.write(staged, change.after, status)
        copies.append(staged)
        if change.before is not None:
            image = journal.image(record, number)
            try:
                disk.link(journal.root / change.path, image)
            except OSError:  # not every file system has links, and not every file may get one
                disk.write(image, change.before, status)
                copies.append(image)
    # In a second pass, since the system has begun to write the first files meanwhile.
    for copy in copies:
        disk.sync(copy)
    for folder in sorted({copy.parent for copy in copies} - {journal.folder}):
        disk.sync(folder)


def _nearest_folder(root: Path, place: Path) -> Path:
    """Return the innermost of a place's parents that exists; the root is taken to."""
    folder = place.parent
    while folder != root and not folder.exists():
        folder = folder.parent
    return folder


def _same_file_system(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
