"""A tree as it would be, in the user's cache: what is to be compiled before it is written.

So nothing is taken back from the user's tree: a run that is killed meanwhile has not touched it.
The files that portkit looks at, and those that it adds, are written; all else is a link into the
user's tree. A file is written only where it differs, so that cargo builds anew what has changed.
Never is it a link one time and written another: cargo goes by times, and the file that comes back
would be older than what was built of the other. What the tree depends on beside it, as by ``path =
"../gpu"``, is a link as well, as far from it as it is from the user's tree.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, path_key
from portkit.errors import DiskError
from portkit.lang.packed import in_turn
from portkit.tree.workspace import SKIPPED_DIRECTORIES
from portkit.verify.content import LOCK
from portkit.write.disk import Disk
from portkit.write.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.tree.workspace import Workspace
    from portkit.write.change import Change

_PASSED_OVER: Final = SKIPPED_DIRECTORIES | {".git", LOCK}


class Scratch:
    """A tree as it would be.

    Args:
        workspace: the tree as it is.
        kind: what it is kept for, one path component.
    """

    def __init__(self, workspace: Workspace, kind: str) -> None:
        self.workspace = workspace
        self.origin = workspace.root.resolve()
        above = len(self.origin.parts) - 1
        levels = max((min(path.count("../"), above) for path in workspace.outside), default=0)
        # The shortest way: one that comes back into a folder above would make a link of that.
        ways = (os.path.relpath(self.origin / path, self.origin) for path in workspace.outside)
        self._outside = sorted(Path(way).parts for way in ways)
        own = path_key(self.origin) + (f"-{levels}" if levels else "")
        home = cache_folder() / kind / own
        self._lock = Journal(self.origin, home, Disk())
        self.folder = home.joinpath(*self.origin.parts[len(self.origin.parts) - levels :])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs of portkit from it.

        Raises:
            BusyTreeError: another run has it.
            DiskError: the cache cannot be written.
        """
        with self._lock.locked():
            yield

    def hold(self, changes: Sequence[Change] = ()) -> None:
        """Let it be the tree with some changes, whatever it was before.

        Args:
            changes: what would be written.

        Raises:
            DiskError: the cache cannot be written.
        """
        sources = self.workspace.sources
        written = {source.path: source.data for source in in_turn(sources.values())}
        written |= {change.path: change.after for change in changes}
        folders = {""}
        for path in written:
            folders.update(str(folder) for folder in Path(path).parents if folder != Path())
        try:
            for way in self._outside:
                self._surround(way)
            for folder in sorted(folders):
                self._fill(folder, folders, written)
            for path, data in written.items():
                _write(self.folder / path, data)
            lock = self.origin / LOCK
            if lock.is_file():
                _write(self.folder / LOCK, lock.read_bytes())
        except OSError as error:
            raise DiskError(
                f"{error.filename or self.folder} could not be written ({error.strerror}): make"
                " room, or set XDG_CACHE_HOME to a folder that can be written"
            ) from error

    def _surround(self, way: Sequence[str]) -> None:
        """Put a link where a way leads out of the tree, which stands for what is there."""
        levels = way.count(os.pardir)
        for name in way[levels : levels + 1]:  # a folder above the tree is none that it leads to
            place = self.folder.parents[levels - 1] / name
            place.parent.mkdir(parents=True, exist_ok=True)
            _link(place, self.origin.parents[levels - 1] / name)

    def _fill(self, folder: str, folders: set[str], written: Mapping[str, bytes]) -> None:
        """Make one folder what it is to be, without those in it that are made too."""
        origin, here = self.origin / folder, self.folder / folder
        if here.is_symlink() or here.is_file():
            here.unlink()
        here.mkdir(parents=True, exist_ok=True)
        names = {each.name for each in origin.iterdir()} if origin.is_dir() else set()
        paths = {
            name: str(Path(folder, name)) for name in names | {each.name for each in here.iterdir()}
        }
        for name, path in paths.items():
            place = here / name
            if path in folders or name in _PASSED_OVER:
                continue
            if path not in written and name in names:
                _link(place, origin / name)
            elif path not in written:
                _remove(place)


def _write(place: Path, data: bytes) -> None:
    if place.is_symlink() or place.is_dir():
        _remove(place)
    if not (place.is_file() and place.read_bytes() == data):
        place.write_bytes(data)


def _link(place: Path, target: Path) -> None:
    if place.is_symlink() and place.readlink() == target:
        return
    if place.is_symlink() or place.exists():
        _remove(place)
    place.symlink_to(target)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
