"""What follows the commit of a run: its files are written, or what was written is taken back.

Nobody is kept from editing the tree meanwhile. So a file is never overwritten: it changes places
with the new one in one step, and is looked at then. If it is not what the plan was made from,
somebody has edited it since; the two change back, and the run is taken back. What is left in the
journal is looked at once more before it is removed: an editor that had the old file open may have
written to it.
"""

from __future__ import annotations

import contextlib
import errno
import stat
from enum import Enum
from typing import TYPE_CHECKING, Final

from portkit.errors import DiskError, OutsideTreeError, TreeChangedError
from portkit.syntax.value import Value
from portkit.transaction.journal import Entry, Journal, Record, State, hash_bytes
from portkit.workspace.path_checks import locate_path
from portkit.workspace.regular_files import is_present

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from portkit.transaction.disk import Disk


class Recovery(Value, frozen=True):
    """What became of a run that was killed.

    Attributes:
        finished: whether its files are all written; else the tree is as it was before it.
        paths: its files, relative to the workspace root.
    """

    finished: bool
    paths: tuple[str, ...]

    def __str__(self) -> str:
        files = count_files(self.paths)
        if self.finished:
            return f"a run of portkit had been killed and was finished now: it wrote {files}"
        return f"a run of portkit had been killed and was taken back: {files} are as before it"


_NO_EXCHANGE: Final = frozenset(
    {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EPERM}
)
"""What a file system answers that cannot let two files change places (rename(2))."""


class _Content(Enum):
    """What a target holds now."""

    BEFORE = "the content before the run"
    AFTER = "the content after it"
    OTHER = "neither: somebody edited it"


class _Target(Value, frozen=True):
    """One file of a committed run, as it stands now.

    Attributes:
        entry: what the record says of it.
        place: where it is.
        staged: its new content.
        image: its old content.
        holds: what it holds.
        written: whether the run has written it, that is, whether ``staged`` is gone.
    """

    entry: Entry
    place: Path
    staged: Path
    image: Path
    holds: _Content
    written: bool

    def can_finish(self) -> bool:
        """Whether it can be given its new content, or has been, without losing an edit."""
        if self.written:
            # Taken back, by portkit or by hand: the new content is used up.
            return self.holds is not _Content.BEFORE and not self._taken_back()
        if self.holds is _Content.AFTER:
            # Where the two have changed places, what was there before must be what was expected.
            return _hash_file(self.staged) in (self.entry.before, self.entry.after)
        return self.holds is _Content.BEFORE and _hash_file(self.staged) == self.entry.after

    def can_take_back(self) -> bool:
        """Whether it can be given its old content, or has been, without losing an edit."""
        if not self.written or self.holds is _Content.BEFORE:
            return True
        if self.holds is _Content.AFTER:
            return self.entry.before in (None, _hash_file(self.image))
        return self._taken_back()

    def is_exchanged(self) -> bool:
        """Whether it has changed places with its new content, and the run was ended there."""
        return (
            not self.written
            and self.holds is _Content.AFTER
            and _hash_file(self.staged) != self.entry.after
        )

    def is_linked(self) -> bool:
        """Whether it is a new file that has got its name, and the run was ended there."""
        try:
            return self.entry.before is None and self.place.samefile(self.staged)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _taken_back(self) -> bool:
        return self.entry.before is not None and _hash_file(self.image) in (None, self.entry.after)


def settle_run(journal: Journal) -> Recovery | None:
    """Bring a run to its end, forward if it had committed and nothing stands in the way.

    Returns:
        What was done, or None where the tree was whole.

    Raises:
        TreeChangedError: somebody edited a file; the run was taken back, or could not be.
        DiskError: the journal is damaged, or the disk failed.
    """
    state, record = journal.load() or (State.STAGING, None)
    if record is None or state is State.STAGING:
        _clear_journal(journal, record)
        return None
    paths = tuple(entry.path for entry in record.entries)
    targets, finishing = _check_targets(journal, record)
    if finishing:
        try:
            _finish_run(journal, record, targets)
        except BaseException as error:
            _roll_back(journal, record)
            if isinstance(error, OSError):
                raise DiskError(
                    f"{error.filename2 or error.filename} could not be written"
                    f" ({error.strerror}): {suggest_remedy(error)} and run portkit again; what"
                    " had been"
                    " written was taken back"
                ) from error
            raise
        _release_journal(journal, record)
        return Recovery(True, paths)
    _roll_back(journal, record)
    if edited := [t.entry.path for t in targets if not t.written and t.holds is _Content.OTHER]:
        raise TreeChangedError(
            f"{', '.join(edited)} changed while portkit was writing {count_files(paths)}: look"
            " at the"
            " change, which was kept, and run portkit again; what had been written was taken back"
        )
    return Recovery(False, paths)


def check_settle(journal: Journal) -> None:
    """Refuse what ``settle`` refuses before it changes anything.

    Raises:
        TreeChangedError: the run can neither be finished nor taken back without losing an edit.
        DiskError: the journal is damaged, or cannot be read.
    """
    state, record = journal.load() or (State.STAGING, None)
    if record is None or state is State.STAGING:
        return
    if not _check_targets(journal, record)[1]:
        _list_revertible(journal, record)


def _check_targets(journal: Journal, record: Record) -> tuple[list[_Target], bool]:
    """Return every file of a run, and whether all of them can be finished.

    Raises:
        DiskError: the disk does not tell.
    """
    try:
        targets = _read_targets(journal, record)
        return targets, all(target.can_finish() for target in targets)
    except OSError as error:
        raise _make_read_error(journal, error) from error


def _read_targets(journal: Journal, record: Record) -> list[_Target]:
    """Look at every file of a run.

    Raises:
        OSError: the disk does not tell: what is not known must not be decided on.
    """
    targets = []
    for number, entry in enumerate(record.entries):
        try:
            digest = _hash_file(locate_path(journal.root, entry.path))
        except OutsideTreeError:  # a symbolic link stands in the way now
            digest = ""
        holds = _Content.OTHER
        if digest == entry.before:
            holds = _Content.BEFORE
        elif digest == entry.after:
            holds = _Content.AFTER
        staged = journal.staged(record, number)
        targets.append(
            _Target(
                entry=entry,
                place=journal.root / entry.path,
                staged=staged,
                image=journal.image(record, number),
                holds=holds,
                written=not is_present(staged),
            )
        )
    return targets


def _finish_run(journal: Journal, record: Record, targets: Sequence[_Target]) -> None:
    """Write what is not yet written."""
    disk, root = journal.disk, journal.root
    pending = [t for t in targets if not t.written and t.holds is _Content.BEFORE]
    needed = {folder for target in pending for folder in list_parents(target.entry.path)}
    made = [root / folder for folder in record.folders if folder in needed]
    for folder in made:
        disk.make_folder(folder)
    for target in pending:
        _write_target(disk, target)
    _sync_folders(disk, {t.place.parent for t in targets} | {folder.parent for folder in made})


def _roll_back(journal: Journal, record: Record) -> None:
    """Give every file that the run has written its old content and end the run.

    Raises:
        TreeChangedError: that would lose somebody's edit; nothing was changed.
        DiskError: the disk failed; the journal stays, for the next run.
    """
    disk, root = journal.disk, journal.root
    targets = _list_revertible(journal, record)
    try:
        for target in targets:
            if target.is_exchanged():
                disk.exchange(target.staged, target.place)
            elif (target.written or target.is_linked()) and target.holds is _Content.AFTER:
                _restore_target(disk, target)
        for name in reversed(record.folders):
            # It stays where somebody has put a file into it since.
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


def _list_revertible(journal: Journal, record: Record) -> list[_Target]:
    """Return every file of a run that can be taken back.

    Raises:
        TreeChangedError: that would lose somebody's edit.
        DiskError: the disk does not tell.
    """
    try:
        targets = _read_targets(journal, record)
        lost = [target.entry.path for target in targets if not target.can_take_back()]
    except OSError as error:
        raise _make_read_error(journal, error) from error
    if lost:
        raise TreeChangedError(
            f"{', '.join(lost)} changed after portkit was killed while it wrote"
            f" {count_files(targets)},"
            " and it can neither finish nor take back that run without losing the change: save a"
            " copy, bring the file back with git and run portkit again, or delete"
            f" {journal.folder} to keep the tree as it stands"
        )
    return targets


def _write_target(disk: Disk, target: _Target) -> None:
    """Give a file its new content.

    Raises:
        TreeChangedError: somebody has edited it since it was looked at; the edit stands.
    """
    if target.entry.before is None:
        try:
            disk.link(target.staged, target.place)
        except FileExistsError:
            raise _make_edit_error(target.entry.path) from None
        except OSError:  # not every file system has links
            disk.rename(target.staged, target.place)
        else:
            disk.remove(target.staged)
        return
    try:
        disk.exchange(target.staged, target.place)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        disk.rename(target.staged, target.place)
        return
    if _hash_file(target.staged) != target.entry.before:
        disk.exchange(target.staged, target.place)
        raise _make_edit_error(target.entry.path)
    disk.remove(target.staged)


def _restore_target(disk: Disk, target: _Target) -> None:
    """Give a file that was written its old content, or none.

    Raises:
        TreeChangedError: somebody has edited it since it was looked at; the edit stands.
    """
    before, image = target.entry.before, target.image
    try:
        if before is None:
            # Moved away first: what is there now may be another file than the one looked at.
            disk.rename(target.place, image)
        else:
            disk.exchange(image, target.place)
    except OSError as error:
        if before is None:  # a full disk has no room for another name
            disk.remove(target.place)
        elif error.errno in _NO_EXCHANGE:
            disk.rename(image, target.place)
        else:
            raise
        return
    if _hash_file(image) != target.entry.after:
        if before is None:
            disk.link(image, target.place)
        else:
            disk.exchange(image, target.place)
        raise _make_edit_error(target.entry.path)
    disk.remove(image)


def _make_read_error(journal: Journal, error: OSError) -> DiskError:
    return DiskError(
        f"{error.filename or journal.folder} cannot be read ({error.strerror}), so that a run of"
        f" portkit in {journal.root} is not ended: mend that and run portkit again, which ends it"
    )


def _make_edit_error(path: str) -> TreeChangedError:
    return TreeChangedError(
        f"{path} changed while portkit was writing: look at the change, which was kept, and run"
        " portkit again"
    )


def _release_journal(journal: Journal, record: Record) -> None:
    try:
        kept = _keep_edits(journal, record)
        journal.release()
    except OSError as error:
        raise DiskError(
            f"the files in {journal.root} are whole, but the run could not be ended in"
            f" {journal.folder} ({error.strerror}): {suggest_remedy(error)} and run portkit again"
        ) from error
    _clear_journal(journal, record)
    if kept:
        raise TreeChangedError(
            f"{', '.join(path for path, _ in kept)} changed while portkit was writing: what was"
            f" written there is kept in {', '.join(str(place) for _, place in kept)}; merge it by"
            " hand"
        )


def _clear_journal(journal: Journal, record: Record | None) -> None:
    try:
        journal.clear(record)
    except OSError as error:
        raise DiskError(
            f"the files in {journal.root} are whole, but {journal.folder} could not be removed"
            f" ({error.strerror}): {suggest_remedy(error)} and run portkit again"
        ) from error


def _keep_edits(journal: Journal, record: Record) -> list[tuple[str, Path]]:
    """Move what holds somebody's edit out of the journal; return the files and where it is."""
    kept = []
    for number, entry in enumerate(record.entries):
        # What stands in the tree is not lost.
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
    """Return the SHA-256 of a file, None for a missing one, "" for what is none.

    Raises:
        OSError: it cannot be read.
    """
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
