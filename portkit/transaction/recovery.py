"""End a committed run: write its remaining files, or roll it back.

Other programs can edit the tree meanwhile, so no file is overwritten: a target and its new content
are exchanged in one step, and what came out is compared with what the plan was made from. If it
differs, somebody has edited the file; it is exchanged back and the run is rolled back. Before the
journal is removed its files are compared once more, since an editor that had the old file open may
have written to it.
"""

from __future__ import annotations

import contextlib
import errno
import stat
from typing import TYPE_CHECKING, Final

from portkit.errors import DiskError, OutsideTreeError, TreeChangedError
from portkit.syntax.value import Value
from portkit.transaction.journal import Entry, Journal, Record, State, hash_bytes
from portkit.workspace.path_checks import locate_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.transaction.disk import Disk

_NO_EXCHANGE: Final = frozenset(
    {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EPERM}
)
"""Errors of a file system that cannot exchange two files (rename(2))."""


class Recovery(Value, frozen=True):
    """How a killed run was ended.

    Attributes:
        finished: whether all its files are written; otherwise the tree is as it was before.
        paths: its files, relative to the workspace root.
    """

    finished: bool
    paths: tuple[str, ...]

    def __str__(self) -> str:
        files = count_files(self.paths)
        if self.finished:
            return f"a run of portkit had been killed and was finished now: it wrote {files}"
        return f"a run of portkit had been killed and was taken back: {files} are as before it"


class _Target(Value, frozen=True):
    """One file of a committed run, with the SHA-256 of what each of its three places holds now.

    A digest is None if the file is missing, and empty if the place holds something else.
    """

    entry: Entry
    place: Path
    staged: Path
    image: Path
    now: str | None
    new: str | None
    old: str | None

    @property
    def is_edited(self) -> bool:
        return self.now not in (self.entry.before, self.entry.after)

    @property
    def is_restored(self) -> bool:
        """Whether the run wrote the file and its old content was put back."""
        return self.entry.before is not None and self.old in (None, self.entry.after)

    @property
    def is_exchanged(self) -> bool:
        """Whether the run was killed between the exchange and the removal of the old content."""
        return self.now == self.entry.after and self.new not in (None, self.entry.after)

    @property
    def is_written(self) -> bool:
        """Whether the new content is at its place; a new file may still have both names."""
        if self.new is None or self.now != self.entry.after:
            return self.now == self.entry.after
        return self.entry.before is None and self.place.samefile(self.staged)

    def can_finish(self) -> bool:
        """Whether the new content can be written, or is, without losing an edit."""
        before, after = self.entry.before, self.entry.after
        if self.new is None:
            return self.now != before and not self.is_restored
        if self.now == after:  # if the two were exchanged, the old content must be the expected one
            return self.new in (before, after)
        return self.now == before and self.new == after

    def can_roll_back(self) -> bool:
        """Whether the old content can be put back, or is, without losing an edit."""
        if self.new is not None or self.now == self.entry.before:
            return True
        if self.now == self.entry.after:
            return self.entry.before in (None, self.old)
        return self.is_restored


def settle_run(journal: Journal) -> Recovery | None:
    """End a run: finish it if it had committed and nothing was edited, otherwise roll it back.

    Returns None if the run had not changed the tree.

    Raises:
        TreeChangedError: somebody edited a file; the run was rolled back, or could not be.
        DiskError: the journal is damaged, or the disk failed.
    """
    state, record = journal.load() or (State.STAGING, None)
    if record is None or state is State.STAGING:
        _clear_journal(journal, record)
        return None
    paths = tuple(entry.path for entry in record.entries)
    targets = _read_targets(journal, record)
    if all(target.can_finish() for target in targets):
        try:
            _finish_run(journal, record, targets)
        except BaseException as error:
            _roll_back(journal, record)
            if isinstance(error, OSError):
                raise DiskError(
                    f"{error.filename2 or error.filename} could not be written"
                    f" ({error.strerror}): {suggest_remedy(error)} and run portkit again; what had"
                    " been written was taken back"
                ) from error
            raise
        _release_journal(journal, record)
        return Recovery(True, paths)
    _roll_back(journal, record)
    if edited := [t.entry.path for t in targets if t.new is not None and t.is_edited]:
        raise TreeChangedError(
            f"{', '.join(edited)} changed while portkit was writing {count_files(paths)}: look at"
            " the change, which was kept, and run portkit again; what had been written was taken"
            " back"
        )
    return Recovery(False, paths)


def check_settle(journal: Journal) -> None:
    """Raise what ``settle_run`` raises before it changes anything."""
    state, record = journal.load() or (State.STAGING, None)
    if record is not None and state is State.COMMITTED:
        targets = _read_targets(journal, record)
        if not all(target.can_finish() for target in targets):
            _check_roll_back(journal, targets)


def _read_targets(journal: Journal, record: Record) -> list[_Target]:
    targets = []
    for number, entry in enumerate(record.entries):
        staged, image = journal.staged(record, number), journal.image(record, number)
        try:
            try:
                now = _hash_file(locate_path(journal.root, entry.path))
            except OutsideTreeError:  # there is a symbolic link on the path now
                now = ""
            new, old = _hash_file(staged), _hash_file(image)
        except OSError as error:  # nothing is decided on what is not known
            raise DiskError(
                f"{error.filename or journal.folder} cannot be read ({error.strerror}), so that a"
                f" run of portkit in {journal.root} is not ended: mend that and run portkit again,"
                " which ends it"
            ) from error
        targets.append(_Target(entry, journal.root / entry.path, staged, image, now, new, old))
    return targets


def _finish_run(journal: Journal, record: Record, targets: Sequence[_Target]) -> None:
    disk, root = journal.disk, journal.root
    pending = [t for t in targets if t.new is not None and t.now == t.entry.before]
    needed = {folder for target in pending for folder in list_parents(target.entry.path)}
    made = [root / folder for folder in record.folders if folder in needed]
    for folder in made:
        disk.make_folder(folder)
    for target in pending:
        _write_target(disk, target)
    _sync_folders(disk, {t.place.parent for t in targets} | {folder.parent for folder in made})


def _roll_back(journal: Journal, record: Record) -> None:
    """Put back the old content of every file that the run has written, and end the run."""
    disk, root = journal.disk, journal.root
    targets = _read_targets(journal, record)
    _check_roll_back(journal, targets)
    try:
        for target in targets:
            if target.is_exchanged:
                disk.exchange(target.staged, target.place)
            elif target.is_written:
                _restore_target(disk, target)
        for name in reversed(record.folders):
            # A folder stays if somebody has put a file into it.
            with contextlib.suppress(OSError, OutsideTreeError):
                disk.remove_folder(locate_path(root, name))
        folders = {target.place.parent for target in targets}
        _sync_folders(disk, folders | {(root / name).parent for name in record.folders})
    except OSError as error:
        raise DiskError(
            f"what portkit had written in {root} could not be taken back ({error.strerror}):"
            f" {suggest_remedy(error)} and run portkit again, which will end that run"
        ) from error
    _release_journal(journal, record)


def _check_roll_back(journal: Journal, targets: Sequence[_Target]) -> None:
    if lost := [target.entry.path for target in targets if not target.can_roll_back()]:
        raise TreeChangedError(
            f"{', '.join(lost)} changed after portkit was killed while it wrote"
            f" {count_files(targets)}, and it can neither finish nor take back that run without"
            " losing the change: save a copy, bring the file back with git and run portkit again,"
            f" or delete {journal.folder} to keep the tree as it stands"
        )


def _write_target(disk: Disk, target: _Target) -> None:
    """Write the new content, unless the file was edited since it was read."""
    if target.entry.before is None:
        try:
            disk.link(target.staged, target.place)
        except FileExistsError:
            raise _make_edit_error(target) from None
        except OSError:  # this file system has no links
            disk.rename(target.staged, target.place)
            return
    elif not _exchange_or_replace(disk, target.staged, target.place):
        return
    elif _hash_file(target.staged) != target.entry.before:
        disk.exchange(target.staged, target.place)
        raise _make_edit_error(target)
    disk.remove(target.staged)


def _restore_target(disk: Disk, target: _Target) -> None:
    """Put back the old content, or remove a new file, unless it was edited since it was read."""
    is_new = target.entry.before is None
    if is_new:
        try:  # moved away first: it may be another file than the one that was read
            disk.rename(target.place, target.image)
        except OSError:  # a full disk has no room for another name
            disk.remove(target.place)
            return
    elif not _exchange_or_replace(disk, target.image, target.place):
        return
    if _hash_file(target.image) != target.entry.after:
        (disk.link if is_new else disk.exchange)(target.image, target.place)
        raise _make_edit_error(target)
    disk.remove(target.image)


def _exchange_or_replace(disk: Disk, source: Path, target: Path) -> bool:
    """Exchange two files; if the file system cannot, replace the target and return False."""
    try:
        disk.exchange(source, target)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        disk.rename(source, target)
        return False
    return True


def _make_edit_error(target: _Target) -> TreeChangedError:
    return TreeChangedError(
        f"{target.entry.path} changed while portkit was writing: look at the change, which was"
        " kept, and run portkit again"
    )


def _release_journal(journal: Journal, record: Record) -> None:
    try:
        kept = _keep_edits(journal, record)
        journal.release()
    except OSError as error:
        what = f"the run could not be ended in {journal.folder}"
        raise _make_journal_error(journal, what, error) from error
    _clear_journal(journal, record)
    if kept:
        raise TreeChangedError(
            f"{', '.join(path for path, _ in kept)} changed while portkit was writing: your version"
            f" is kept in {', '.join(str(place) for _, place in kept)}; merge it by hand"
        )


def _clear_journal(journal: Journal, record: Record | None) -> None:
    try:
        journal.clear(record)
    except OSError as error:
        what = f"{journal.folder} could not be removed"
        raise _make_journal_error(journal, what, error) from error


def _make_journal_error(journal: Journal, what: str, error: OSError) -> DiskError:
    return DiskError(
        f"the files in {journal.root} are whole, but {what} ({error.strerror}):"
        f" {suggest_remedy(error)} and run portkit again"
    )


def _keep_edits(journal: Journal, record: Record) -> list[tuple[str, Path]]:
    """Move every edit out of the journal; return the edited paths and where each edit is now."""
    kept = []
    for number, entry in enumerate(record.entries):
        # An edit that is in the tree too is not lost.
        known = {None, entry.before, entry.after, _hash_file(journal.root / entry.path)}
        for place in (journal.staged(record, number), journal.image(record, number)):
            if _hash_file(place) in known:
                continue
            folder = journal.folder.with_name(f"{journal.folder.name}-kept")
            name = f"{record.run}-{number}{place.suffix}-{entry.path.rpartition('/')[2]}"
            journal.disk.make_folder(folder)
            journal.disk.rename(place, folder / name)
            kept.append((entry.path, folder / name))
    return kept


def _hash_file(place: Path) -> str | None:
    """Return the SHA-256 of a file, None if it is missing, "" if it is not a regular file."""
    try:
        if not stat.S_ISREG(place.lstat().st_mode):
            return ""
        return hash_bytes(place.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _sync_folders(disk: Disk, folders: set[Path]) -> None:
    for folder in sorted(folders):
        if folder.is_dir():
            disk.sync(folder)


def list_parents(path: str) -> list[str]:
    """Return the folders that a path leads through: ``a`` and ``a/b`` for ``a/b/c``."""
    return [path[:index] for index, char in enumerate(path) if char == "/"]


def suggest_remedy(error: OSError) -> str:
    """Return what to do about an error of the disk, as the beginning of a sentence."""
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None))
    return "free some space" if full else "mend that"


def count_files(files: Sequence[object]) -> str:
    """Return how many files there are, in words."""
    return f"{len(files)} file{'' if len(files) == 1 else 's'}"
