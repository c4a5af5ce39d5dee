"""Refuse a plan that cannot be written, before anything is written.

``apply --check`` and ``apply --diff`` call this too: they promise no port that ``apply`` refuses.
Only a full disk and an edit during the write are found later. In a read-only checkout, such as a
container's, both still show the port, and say that it cannot be written there.
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
_DENIED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def check_plan(
    root: Path,
    changes: Sequence[Change],
    check_clean: Callable[[Path], object],
    *,
    dry: bool = False,
) -> str:
    """Refuse a plan that must not or cannot be written; a plan without changes is never refused.

    Args:
        root: the workspace root.
        changes: at most one for each path.
        check_clean: refuses a tree that git could not bring back (``portkit.workspace.git``).
        dry: whether nothing is to be written.

    Returns:
        Why permissions would refuse the plan, if it is dry; otherwise an empty text.

    Raises:
        PortkitError: the plan is refused; ``write_plan`` lists the kinds.
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
        cause = error.__cause__
        if not (dry and isinstance(cause, OSError) and cause.errno in _DENIED):
            raise
        denied = str(error)
    for change in changes:
        check_place(root, change, permitted=not denied)
    return denied


def is_recovery_needed(root: Path) -> bool:
    """Whether a killed run must be ended before the tree can be read.

    Raises:
        TreeChangedError: it can be neither finished nor rolled back.
        BusyTreeError: the run is not dead.
        DiskError: its journal is damaged or cannot be read.
    """
    left = [journal for journal in find_journals(root.resolve(), _DISK) if journal.exists()]
    for journal in left:
        journal.check()
        check_settle(journal)
    return bool(left)


def open_journal(root: Path, disk: Disk) -> Journal:
    """Return the journal of a new run.

    Raises:
        DiskError: there is no place for it.
    """
    if places := find_journals(root, disk):
        return places[0]
    raise DiskError(
        f"there is no place for the journal of the run: make {root} a git repository, or set HOME"
        " or XDG_STATE_HOME"
    )


def check_paths(paths: list[str]) -> None:
    """Refuse a path that is named twice, or is both a file and a folder."""
    known = set(paths)
    if len(known) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise PlanError(f"the plan writes {twice} twice: report this as a defect of portkit")
    for path in paths:
        if folder := next((each for each in list_parents(path) if each in known), ""):
            raise PlanError(
                f"the plan writes {folder} both as a file and as the folder of {path}: report this"
                " as a defect of portkit"
            )


def check_place(root: Path, change: Change, *, permitted: bool = True) -> os.stat_result | None:
    """Return the status of the file that a change replaces, or None if the file is new.

    Args:
        root: the workspace root, absolute and without symbolic links.
        change: the change.
        permitted: whether the file must be writable.

    Raises:
        OutsideTreeError: as ``locate_path``.
        TreeChangedError: the file is not as the plan saw it, or cannot be replaced.
    """
    path = change.path
    try:
        place = locate_path(root, path)
        status = place.lstat() if is_present(place) else None
        fault = _find_fault(root, change, place, status, permitted=permitted)
    except OSError as error:
        fault = f"{path} cannot be examined ({error.strerror}): mend that and"
    if fault:
        raise TreeChangedError(f"{fault} run portkit again; nothing was changed")
    return status


def _find_fault(
    root: Path, change: Change, place: Path, status: os.stat_result | None, *, permitted: bool
) -> str:
    """Return why a file cannot be written, as the beginning of a sentence, or an empty text."""
    path, folder = change.path, find_nearest_folder(root, place)
    if not folder.is_dir():
        return f"{folder}, which is to hold {path}, is not a folder: move it away and"
    if permitted and not _is_writable(folder):
        return (
            f"the folder {folder} is read-only, so {path} cannot be written: make it writable and"
        )
    if status is None:
        if change.before is not None:
            return f"{path} vanished since portkit read it:"
        for name in place.relative_to(folder).parts:  # one may be too long for the file system
            is_present(folder / name)
        return ""
    if change.before is None or not stat.S_ISREG(status.st_mode):
        return f"{path} stands where portkit was to write a file: move it away and"
    if permitted and not _is_writable(place):
        return f"{path} is read-only: make it writable and"
    return "" if place.read_bytes() == change.before else f"{path} changed since portkit read it:"


def _is_writable(place: Path) -> bool:
    """Whether a file or folder may be written; a place read-only for everybody is so for root."""
    return bool(place.stat().st_mode & 0o222) and os.access(place, os.W_OK)


def find_nearest_folder(root: Path, place: Path) -> Path:
    """Return the innermost existing parent of a place, at least the root."""
    folder = place.parent
    while folder != root and not folder.exists():
        folder = folder.parent
    return folder
