"""The user's folders: the cache, which anybody may delete, and the state, which tells of trees.

An entry of the cache appears whole or not at all, so two runs can share the folder without a lock:
both prepare the entry beside its place, and the first rename wins. Where a run works in a folder
for a while, a lock keeps others out.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from portkit.errors import BusyTreeError, DiskError


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/portkit``, else ``~/.cache/portkit``; it may not exist yet.

    A relative ``XDG_CACHE_HOME`` is ignored, as the XDG Base Directory Specification demands.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "portkit"


def state_folder() -> Path | None:
    """Return ``$XDG_STATE_HOME/portkit``, else ``~/.local/state/portkit``; it may not exist yet.

    None where there is no home folder. A relative ``XDG_STATE_HOME`` is ignored.
    """
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / "portkit"
    try:
        return Path.home() / ".local" / "state" / "portkit"
    except RuntimeError:
        return None


def path_key(path: Path) -> str:
    """Return 16 hexadecimal digits that stand for an absolute path in the name of a file."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


@contextlib.contextmanager
def _make_entry(place: Path) -> Iterator[Path]:
    """Yield a path beside an entry of the cache, to be renamed to it."""
    import tempfile

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as scratch:
            yield Path(scratch) / place.name
    except OSError as error:
        raise _unwritable(place, error) from error


def cached_folder(kind: str, key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder ``kind/key`` of the cache, after ``fill`` wrote it if it was not there."""
    place = cache_folder() / kind / key
    if place.is_dir():
        return place
    with _make_entry(place) as content:
        content.mkdir()
        fill(content)
        try:
            content.rename(place)
        except OSError:
            if not place.is_dir():  # else another run was faster, with the same content
                raise
    return place


def read_cached(kind: str, key: str) -> str | None:
    """Return the text that ``write_cached`` kept under ``kind/key``, or None."""
    try:
        return (cache_folder() / kind / key).read_text(encoding="utf-8")
    except OSError:
        return None


def cached_names(kind: str) -> tuple[str, ...]:
    """Return the keys under which ``write_cached`` kept something, sorted."""
    try:
        return tuple(sorted(place.name for place in (cache_folder() / kind).iterdir()))
    except OSError:
        return ()


def write_cached(kind: str, key: str, text: str) -> None:
    """Keep ``text`` under ``kind/key``, in place of what was there."""
    place = cache_folder() / kind / key
    with _make_entry(place) as new:
        new.write_text(text, encoding="utf-8")
        new.replace(place)


@contextlib.contextmanager
def hold_lock(file: Path, busy: str) -> Iterator[None]:
    """Keep other runs out for as long as the context lasts, by a lock on a file of the cache."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = file.open("w")
    except OSError as error:
        raise _unwritable(file, error) from error
    with held:
        try:
            take_lock(held.fileno())
        except BlockingIOError:
            raise BusyTreeError(busy) from None
        yield


def take_lock(descriptor: int, *, shared: bool = False) -> None:
    """Take a lock on an open file, an exclusive one but where it is to be shared.

    It lasts until the file is closed. Windows has no shared ones here.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
    else:
        import fcntl

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _unwritable(place: Path, error: OSError) -> DiskError:
    cause = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        remedy = "run portkit again, or set XDG_CACHE_HOME to another folder"
        cause = f"{error.filename or place} vanished or is missing"
    elif error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        remedy = "make room, or set XDG_CACHE_HOME to a folder that has room"
    else:
        remedy = "set XDG_CACHE_HOME to a folder that can be written"
    return DiskError(f"the cache entry {place} could not be written ({cause}): {remedy}")
