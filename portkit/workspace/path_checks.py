"""Checks of the paths that portkit reads or writes: those of a plan, and links on the way.

Paths are relative to the workspace root and separated by ``/``. They come from the user's tree (a
manifest's members, names of modules) and from profiles, so none of them is trusted.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from portkit.errors import OutsideTreeError
from portkit.workspace.git_repository import find_repository

# Names that Windows takes for devices, with any extension:
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "123456789¹²³"]
)

# A junction, Windows' other kind of link to a folder (IO_REPARSE_TAG_MOUNT_POINT in winnt.h).
_JUNCTION: Final = 0xA0000003


def locate_path(root: Path, path: str) -> Path:
    """Return the absolute place of a path of the plan, which need not exist.

    A name that Windows takes for a device (``aux.rs``) is an ordinary file elsewhere: where it
    exists it may be edited, but portkit makes no new one, since a tree with it cannot be checked
    out on Windows.

    Raises:
        OutsideTreeError: the path leaves the root, enters a git directory, leads through a
            symbolic link or is one.
        OSError: a part of the path cannot be examined.
    """
    if fault := find_path_fault(path):
        raise OutsideTreeError(
            f"the path {path!r} {fault}, and portkit writes only inside {root}: correct the"
            " manifest or the profile that names it"
        )
    place = root
    for name in path.split("/"):
        place = place / name
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            exists = False
            break
        if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION:
            link = place.relative_to(root).as_posix()
            raise OutsideTreeError(
                f"{path} leads through the symbolic link {link}, which portkit neither follows nor"
                f" replaces: put the file itself there, or leave it out of the workspace"
            )
    else:
        exists = True
    if (os.name == "nt" or not exists) and any(map(_is_device, path.split("/"))):
        raise OutsideTreeError(
            f"the path {path!r} has a name that Windows reserves, such as aux or con: rename the"
            " module or the crate that gives it this name"
        )
    return root / path


def find_path_fault(path: str) -> str | None:
    """Return the fault of a path by its text, as the end of a sentence, or None.

    A colon or a backslash is refused on every system, so that a plan is good on all or on none.
    """
    if any(char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in path):
        return "holds a control character or is not Unicode"
    if "\\" in path or ":" in path:
        return "holds a backslash or a colon"
    if path.startswith("/"):
        return "is absolute"
    names = path.split("/")
    if not {"", ".", ".."}.isdisjoint(names):
        return "holds an empty, a '.' or a '..' part"
    if any(map(_is_git, names)):
        return "lies in a git directory"
    return None


def _is_git(name: str) -> bool:
    """Whether some file system treats the name as ``.git``.

    Windows drops dots and spaces at the end and has the short name ``git~1``, HFS+ drops invisible
    characters, both fold case; git refuses the same names (``core.protectNTFS``,
    ``core.protectHFS`` in git-config(1)).
    """
    if not name.isascii():
        name = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return name.casefold().rstrip(" .") in (".git", "git~1")


def _is_device(name: str) -> bool:
    return name.split(".", 1)[0].rstrip(" ").casefold() in _DEVICES


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
