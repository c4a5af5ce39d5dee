"""Link the path dependencies outside a tree beside a copy of it.

``path = "../gpu"`` leads out of the tree. A copy of the tree stands as deep in a folder of its own
as the way out is long, and where the way ends there is a link to what is beside the tree.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from portkit.workspace.cargo_workspace import Workspace


class SiblingTrees(Value, frozen=True):
    """The path dependencies of a tree that are outside it.

    Attributes:
        ways: the shortest way to each, as the parts of a path that begins with ``..``; sorted.
        levels: how many folders above the tree manifests name on the way to what lies farthest.
    """

    root: Path
    ways: tuple[tuple[str, ...], ...]
    levels: int

    @classmethod
    def of(cls, workspace: Workspace) -> SiblingTrees:
        """Return the path dependencies of a workspace that are outside it."""
        root = workspace.root.resolve()
        # The shortest way: one that comes back into a folder above would make a link of that.
        shortest = (os.path.relpath(root / path, root) for path in workspace.outside)
        above = len(root.parts) - 1
        levels = max((min(path.count("../"), above) for path in workspace.outside), default=0)
        return cls(root, tuple(sorted(Path(way).parts for way in shortest)), levels)

    def within(self, home: Path) -> Path:
        """Return the place for a copy in a folder, so that no path leads out of the folder."""
        return home.joinpath(*self.root.parts[len(self.root.parts) - self.levels :])

    def link(self, copy: Path) -> None:
        """Put links beside a copy of the tree."""
        for way in self.ways:
            levels = way.count(os.pardir)
            for name in way[levels : levels + 1]:  # none leads to a folder above the tree itself
                place = copy.parents[levels - 1] / name
                place.parent.mkdir(parents=True, exist_ok=True)
                make_link(place, self.root.parents[levels - 1] / name)


def make_link(place: Path, target: Path) -> None:
    """Make a symbolic link, unless it exists."""
    if place.is_symlink() and place.readlink() == target:
        return
    if place.is_symlink() or place.exists():
        remove_path(place)
    place.symlink_to(target)


def remove_path(place: Path) -> None:
    """Take away a file, a link, or a folder with all in it."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
