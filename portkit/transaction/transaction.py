"""Write a plan into the user's tree; no other module writes there.

A plan is written whole or not at all, even if the process is killed or the disk fills up:

1. Each file is compared with the content that the plan was made from
   (``portkit.transaction.preconditions``).
2. A record of the run is written to the journal (``portkit.transaction.journal``).
3. The new contents are staged on the file system of their targets.
4. The record is renamed to *committed*. A run that is killed before has not touched the tree; a run
   that is killed after is finished by the next run.
5. Each staged file is exchanged with its target, the former content is checked, and the journal is
   removed (``portkit.transaction.recovery``).

If step 5 fails or is interrupted from the keyboard, the run is rolled back, if need be by the next
run. Each step is durable (fsync) before the next begins, so a loss of power is as harmless as a
killed process, if the drive keeps its promise.

A clean tree and ``git`` are no substitute: plans are also written without git, beside uncommitted
files, and while an editor may save one of them.

A file keeps its permissions and, if the system allows, its owner. It becomes a new file: other hard
links keep the old content, and extended attributes are lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from portkit.errors import DiskError
from portkit.transaction.change import Change
from portkit.transaction.disk import Disk
from portkit.transaction.journal import Entry, Journal, Record, find_journals, hash_bytes
from portkit.transaction.preconditions import (
    check_paths,
    check_place,
    find_nearest_folder,
    open_journal,
)
from portkit.transaction.recovery import (
    Recovery,
    count_files,
    list_parents,
    settle_run,
    suggest_remedy,
)

__all__ = ["Change", "Recovery", "recover_run", "write_plan"]

_DISK: Final = Disk()


def write_plan(root: Path, changes: Sequence[Change], *, disk: Disk = _DISK) -> None:
    """Write the files of a plan, all of them or none.

    Changes without an effect are skipped. Folders are made as needed.

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
    check_paths([change.path for change in changes])
    root = root.resolve()
    journal = open_journal(root, disk)
    with journal.locked():
        if journal.exists():
            settle_run(journal)
        seen = [check_place(root, change) for change in changes]
        record: Record | None = None
        try:
            record = _make_record(journal, changes)
            journal.begin(record)
            _stage_files(journal, record, changes, seen)
            journal.commit()
        except BaseException as error:
            with contextlib.suppress(OSError):
                journal.clear(record)
            if isinstance(error, OSError):
                raise DiskError(
                    f"{count_files(changes)} could not be staged in {journal.folder}"
                    f" ({error.strerror}): {suggest_remedy(error)} and run portkit again; nothing"
                    " was changed"
                ) from error
            raise
        outcome = settle_run(journal)
    if outcome is None or not outcome.finished:
        raise DiskError(
            f"the files staged in {journal.folder} were disturbed: run portkit again; nothing was"
            " changed"
        )


def recover_run(root: Path, *, disk: Disk = _DISK) -> Recovery | None:
    """Finish or roll back a killed run; do so before you check that the tree is clean.

    A committed run is finished, or rolled back if files were edited or put back since; edits are
    never overwritten. Recovery itself may be killed. It returns None if there was no such run.

    Raises:
        TreeChangedError: a file was edited since; the sentence says what became of the run.
        BusyTreeError: the run is not dead, or another portkit is recovering it.
        DiskError: the journal is damaged, or the disk failed.
    """
    outcome = None
    for journal in find_journals(root.resolve(), disk):
        if journal.exists():
            with journal.locked():
                # The run may have ended between the two looks.
                if journal.exists():
                    outcome = settle_run(journal) or outcome
    return outcome


def _make_record(journal: Journal, changes: Sequence[Change]) -> Record:
    root = journal.root
    folders: set[str] = set()
    entries = []
    for change in changes:
        folders.update(name for name in list_parents(change.path) if not (root / name).is_dir())
        before = None if change.before is None else hash_bytes(change.before)
        stage = None
        nearest = find_nearest_folder(root, root / change.path)
        if not _is_same_file_system(journal.folder.parent, nearest):
            stage = "/".join(nearest.relative_to(root).parts)
        entries.append(Entry(change.path, before, hash_bytes(change.after), stage))
    return Record(str(root), os.urandom(4).hex(), tuple(sorted(folders)), tuple(entries))


def _stage_files(
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


def _is_same_file_system(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
