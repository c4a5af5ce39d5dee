"""Links on the way to a file that portkit writes: a tree may have put them there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from portkit.workspace.git_repository import find_repository


def find_link(place: Path, beside: Iterable[Path] = ()) -> Path | None:
    """Return the first link of a tree on the way to a place, or None.

    The trees are the working directory's, and those of other files; of each the repository counts
    as a whole. A link elsewhere, such as a system's /tmp, is nobody's trap.
    """
    whole = place.absolute()
    on_the_way = [each for each in (*reversed(whole.parents), whole) if each.is_symlink()]
    if not on_the_way:
        return None
    here = Path.cwd()
    roots = [each.resolve() for each in beside] + ([here] if here != Path(here.anchor) else [])
    tops = [found.top for each in roots if (found := find_repository(each)) is not None]
    folders = [each if each.is_dir() else each.parent for each in (*roots, *tops)]
    for link in on_the_way:
        holder = link.parent.resolve()
        if any(holder.is_relative_to(folder) for folder in folders):
            return link
    return None
