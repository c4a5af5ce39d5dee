"""Trees that stay in one folder from run to run, so that cargo builds only what has changed.

Cargo decides by the times of files, and names the products of a package after its folder within
the workspace (`cargo::core::SourceId::stable_hash`): two trees of one version have products of the
same names.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack


def keep(tree: Path, name: str, locks: ExitStack) -> Path:
    """Copy a tree to its kept folder, and return that, or the tree if another run has the folder.

    Args:
        tree: the tree.
        name: the name of the folder.
        locks: holds the lock of the folder until the run ends.
    """
    place = cache_folder() / "tests" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = locks.enter_context(place.with_name(f"{name}.lock").open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return tree
    mirror(tree, place)
    return place


def claim_products(tree: Path, target: Path) -> None:
    """Have cargo compile what a tree has otherwise than the one that it has compiled before.

    Args:
        tree: a tree whose name has its version; the times of its files change.
        target: the folder of cargo's products.
    """
    version = re.search(r"\d+\.\d+\.\d+", tree.name)
    record = target / f"tree-of-{version[0] if version else tree.name}"
    before = Path(record.read_text()) if record.is_file() else None
    if before == tree:
        return
    for path in (path for path in _entries(tree) if _kind(path) == "file"):
        other = before / path.relative_to(tree) if before is not None else None
        if other is None or not other.is_file() or _content(other) != _content(path):
            os.utime(path)
    target.mkdir(parents=True, exist_ok=True)
    record.write_text(str(tree))


def mirror(source: Path, place: Path) -> None:
    """Make a folder equal to another one; files that are equal already keep their times."""
    place.mkdir(exist_ok=True)
    wanted = {path.relative_to(source): path for path in _entries(source)}
    for path in sorted(_entries(place), reverse=True):
        other = wanted.get(path.relative_to(place))
        if other is None or _kind(other) != _kind(path):
            if _kind(path) == "folder":
                shutil.rmtree(path)
            else:
                path.unlink()
    for name, path in sorted(wanted.items()):
        new = place / name
        if _kind(path) == "folder":
            new.mkdir(exist_ok=True)
        elif not os.path.lexists(new) or _content(path) != _content(new):
            new.unlink(missing_ok=True)
            shutil.copy(path, new, follow_symlinks=False)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield every file, link and folder below a folder."""
    for root, folders, files in os.walk(folder):
        yield from (Path(root, name) for name in (*folders, *files))


def _kind(path: Path) -> str:
    return "link" if path.is_symlink() else "folder" if path.is_dir() else "file"


def _content(path: Path) -> tuple[int, bytes]:
    """Return the mode and the text of a file, or the target of a link."""
    if path.is_symlink():
        return 0, os.fsencode(path.readlink())
    return path.stat().st_mode, path.read_bytes()
