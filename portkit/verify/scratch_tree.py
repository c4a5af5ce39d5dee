"""Write a changed tree into the user's cache, to compile it before it is applied.

So nothing is taken back from the user's tree: a run that is killed meanwhile has not touched it.
The files that portkit looks at, and those that it adds, are written; all else is a link into the
user's tree. A file is written only where it differs, so that cargo builds anew what has changed.
Never is it a link one time and written another: cargo goes by times, and the file that comes back
would be older than what was built of the other.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, path_key
from portkit.errors import DiskError
from portkit.syntax.compressed_source import release_in_turn
from portkit.transaction.disk import Disk
from portkit.transaction.journal import Journal
from portkit.verify.digests import LOCK
from portkit.verify.sibling_trees import SiblingTrees, make_link, remove_path
from portkit.workspace.cargo_workspace import SKIPPED_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.transaction.change import Change
    from portkit.workspace.cargo_workspace import Workspace

_PASSED_OVER: Final = SKIPPED_DIRECTORIES | {".git", LOCK}


class ScratchTree:
    """A tree as it would be."""

    def __init__(self, workspace: Workspace, kind: str) -> None:
        self.workspace = workspace
        self.beside = SiblingTrees.of(workspace)
        self.origin = self.beside.root
        levels = self.beside.levels
        own = path_key(self.origin) + (f"-{levels}" if levels else "")
        home = cache_folder() / kind / own
        self._lock = Journal(self.origin, home, Disk())
        self.folder = self.beside.within(home)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other runs of portkit from it."""
        with self._lock.locked():
            yield

    def write_tree(self, changes: Sequence[Change] = ()) -> None:
        """Let it be the tree with some changes, whatever it was before."""
        sources = self.workspace.sources
        written = {source.path: source.data for source in release_in_turn(sources.values())}
        written |= {change.path: change.after for change in changes}
        folders = {""}
        for path in written:
            folders.update(str(folder) for folder in Path(path).parents if folder != Path())
        try:
            self.beside.link(self.folder)
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

    def _fill(self, folder: str, folders: set[str], written: Mapping[str, bytes]) -> None:
        """Fill one folder, except for files and folders that are written separately."""
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
                make_link(place, origin / name)
            elif path not in written:
                remove_path(place)


def _write(place: Path, data: bytes) -> None:
    if place.is_symlink() or place.is_dir():
        remove_path(place)
    if not (place.is_file() and place.read_bytes() == data):
        place.write_bytes(data)
