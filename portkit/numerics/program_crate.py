"""The program, beside the tree that it is built against."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, path_key
from portkit.errors import DiskError
from portkit.shipped import shipped

if TYPE_CHECKING:
    from pathlib import Path

CRATE: Final = "crates/crosscheck"
"""The program's sources."""

_LOCK: Final = "Cargo.lock"


def place_program(
    root: Path, name: str, base: Path | None = None, crate: Path | None = None
) -> Path:
    """Return the folder of the program's crate, beside a link to a tree.

    Nothing is written into the tree. A second call brings the files up to date, and leaves those
    alone that have not changed, so that cargo builds nothing anew.

    ``base``: where the folders are kept; in the user's cache by default, one for each tree.
    ``crate``: the program's sources, by default portkit's own.
    """
    root, crate = root.resolve(), crate or shipped(CRATE)
    place = (base or cache_folder() / "proof") / path_key(root)
    try:
        (place / "crosscheck").mkdir(parents=True, exist_ok=True)
        _link(place / name, root)
        wanted = {path.relative_to(crate) for path in _find_crate_files(crate)}
        for old in {
            path.relative_to(place / "crosscheck")
            for path in _find_crate_files(place / "crosscheck")
        }:
            if old not in wanted and old.name != _LOCK:
                (place / "crosscheck" / old).unlink()
        for path in sorted(wanted):
            _copy(crate / path, place / "crosscheck" / path)
        # The same versions as the tree's, as far as it has settled them.
        if (root / _LOCK).is_file():
            _copy(root / _LOCK, place / f"tree-{_LOCK}", place / "crosscheck" / _LOCK)
    except OSError as error:
        raise DiskError(
            f"{place} could not be written ({error.strerror}): make room, or set XDG_CACHE_HOME to"
            " a folder that can be written"
        ) from error
    return place / "crosscheck"


def _find_crate_files(crate: Path) -> list[Path]:
    """Return the files of a crate, without what cargo made."""
    return [
        path
        for path in crate.rglob("*")
        if path.is_file() and path.relative_to(crate).parts[0] != "target"
    ]


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink() or link.readlink() != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def _copy(source: Path, place: Path, also: Path | None = None) -> None:
    """Copy a file where it differs, and then to a second place as well."""
    content = source.read_bytes()
    if not place.is_file() or place.read_bytes() != content:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if also is not None:
            shutil.copyfile(source, also)
