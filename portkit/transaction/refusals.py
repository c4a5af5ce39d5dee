"""Why a plan is not written, as far as that can be known before it is.

``apply --check`` and ``apply --diff`` ask what ``apply`` asks, so that neither promises a port that
the other refuses. Nothing is written here. What only the writing shows stays with it: a disk that
fills up, an edit that is made meanwhile. Who looks at a checkout in which nothing may be written at
all, as a container has it, is told so and sees the port.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from portkit.errors import DiskError, PlanError, TreeChangedError
from portkit.transaction.disk import Disk
from portkit.transaction.journal import Journal, find_journals
from portkit.transaction.recovery import check_settle, list_parents
from portkit.workspace.path_checks import locate_path
from portkit.workspace.regular_files import is_present

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from portkit.transaction.change import Change

_DISK: Final = Disk()


def check_plan(
    root: Path,
    changes: Sequence[Change],
    check_clean: Callable[[Path], object],
    *,
    dry: bool = False,
) -> str:
    """Refuse a plan that cannot be written into a tree, or may not.

    A plan without changes is never refused.

    Returns:
        Why the plan would be refused by permissions, where nothing is to be written; else nothing.

    Raises:
        DirtyTreeError: git could not bring the tree back.
        ToolError: git is missing or failed.
        PlanError: two changes cannot both be made.
        OutsideTreeError: a path leaves the tree or leads through a symbolic link.
        TreeChangedError: a file is not as the plan saw it, or it or its folder is read-only.
        BusyTreeError: another portkit is writing to the tree.
        DiskError: there is no place for the journal.
    """
    if not changes:
        return ""
    check_clean(root)
    check_paths([change.path for change in changes])
    root = root.resolve()
    denied = ""
    try:
        open_journal(root, _DISK).check()
    except DiskError as error:
        if not (dry and _is_denied(error)):
            raise
        denied = str(error)
    for change in changes:
        check_place(root, change, permitted=not denied)
    return denied


def _is_denied(error: DiskError) -> bool:
    """Whether it is permissions that an error comes from, or a disk that only is read."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EACCES, errno.EPERM, errno.EROFS)


def is_recovery_needed(root: Path) -> bool:
    """Whether a killed run must be ended before the tree can be read.

    Raises:
        TreeChangedError: it can neither be finished nor taken back.
        BusyTreeError: the run is not dead.
        DiskError: its journal is damaged or cannot be read.
    """
    left = False
    for journal in find_journals(root.resolve(), _DISK):
        if journal.exists():
            journal.check()
            check_settle(journal)
            left = True
    return left


def open_journal(root: Path, disk: Disk) -> Journal:
    """Return the journal of a new run.

    Raises:
        DiskError: there is no place for it.
    """
    places = find_journals(root, disk)
    if not places:
        raise DiskError(
            f"there is no place for the journal of the run: make {root} a git repository, or set"
            " HOME or XDG_STATE_HOME"
        )
    return places[0]


def check_paths(paths: list[str]) -> None:
    """Refuse a path that is named twice or is a file here and a folder there."""
    known = set(paths)
    if len(known) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise PlanError(f"the plan writes {twice} twice: report this as a defect of portkit")
    for path in paths:
        for folder in list_parents(path):
            if folder in known:
                raise PlanError(
                    f"the plan writes {folder} both as a file and as the folder of {path}: report"
                    " this as a defect of portkit"
                )


def check_place(root: Path, change: Change, *, permitted: bool = True) -> os.stat_result | None:
    """Return the status of the file that a change replaces, if that file is as the plan saw it.

    Raises:
        OutsideTreeError: as ``locate``.
        TreeChangedError: it is not, or cannot be replaced.
    """
    path = change.path
    try:
        place = locate_path(root, path)
        folder = find_nearest_folder(root, place)
        if not folder.is_dir():
            raise TreeChangedError(
                f"{folder}, which is to hold {path}, is not a folder: move it away and run portkit"
                " again; nothing was changed"
            )
        if permitted and not _is_writable(folder):
            raise TreeChangedError(
                f"the folder {folder} is read-only, so {path} cannot be written: make it writable"
                " and run portkit again; nothing was changed"
            )
        if not is_present(place):
            if change.before is None:
                _check_names(folder, place)
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
        if permitted and not _is_writable(place):
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


def _check_names(folder: Path, place: Path) -> None:
    """Ask the file system about each name that is to be made below a folder.

    Where a folder is missing it does not look at what comes after, which may be too long a name.

    Raises:
        OSError: it takes no such name.
    """
    for name in place.relative_to(folder).parts:
        is_present(folder / name)


def _is_writable(place: Path) -> bool:
    """Whether a file or folder may be written to.

    Root may write anything; but what nobody may write was made read-only on purpose.
    """
    return bool(place.stat().st_mode & 0o222) and os.access(place, os.W_OK)


def find_nearest_folder(root: Path, place: Path) -> Path:
    """Return the innermost existing parent of a place, at least the root."""
    folder = place.parent
    while folder != root and not folder.exists():
        folder = folder.parent
    return folder
