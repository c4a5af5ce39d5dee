"""The codebases that can be named: those that portkit brings, and those that packages announce.

A Python package announces a codebase through an entry point of the group ``portkit.codebases``,
whose name is the codebase's and whose value is the package, or a folder in it, that holds its
directory (Python Packaging User Guide, "Entry points specification").
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from portkit.codebases.directory import Directory
from portkit.errors import ProfileError
from portkit.syntax.typed_toml import list_choices

GROUP: Final = "portkit.codebases"
MAIN: Final = "codebase.toml"
"""The file that makes a directory a codebase's."""
_SHOWN: Final = 100  # How many characters of an overlong name are shown.


def find_shipped() -> Mapping[str, Directory]:
    """Return the directories that portkit brings, by name, sorted."""
    here = Path(__file__).parent
    return {p.parent.name: Directory(p.parent) for p in sorted(here.glob(f"*/{MAIN}"))}


def find_announced() -> Mapping[str, Directory]:
    """Return the directories that installed packages announce, by name, sorted."""
    from importlib.metadata import entry_points  # it reads every installed package's metadata

    taken = set(find_shipped())
    found: dict[str, Directory] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        package = point.dist.name if point.dist else "a package"
        if point.name in taken | found.keys():
            raise ProfileError(
                f"{package} announces the codebase {point.name!r}, of which there is one already:"
                " uninstall one of them, or name a directory by --profile"
            )
        found[point.name] = _load_packaged(point.value, package)
    return found


def list_codebases() -> tuple[str, ...]:
    """Return the names of all codebases that can be named, sorted."""
    return tuple(sorted({*find_shipped(), *find_announced()}))


def find_codebase(name: str) -> Directory:
    """Return the directory of a codebase: one of ``names``, or the path of a directory."""
    own = find_shipped().get(name)
    if own is not None:
        return own
    if (Path(name) / MAIN).is_file():
        return Directory(Path(name))
    other = find_announced().get(name)
    if other is not None:
        return other
    raise ProfileError(
        f"there is no codebase {name!r}: name {list_choices(list_codebases())}, or a directory"
        f" that holds a {MAIN}"
    )


def find_codebase_in_tree(tree: Path, name: str) -> Directory:
    """Return the directory that a tree names for itself: it must lie in the tree."""
    place = tree / name
    try:
        is_below = place.resolve().is_relative_to(tree.resolve())
        is_there = (place / MAIN).is_file()
    except OSError as error:
        raise ProfileError(
            f"the profile {name[:_SHOWN]!r} cannot be looked for ({error.strerror}): mend its name"
        ) from None
    if not is_below:
        raise ProfileError(
            f"the profile {name!r} lies outside {tree}: a tree names a directory of its own;"
            " --profile takes any other"
        )
    if not is_there:
        raise ProfileError(
            f"there is no codebase profile {name!r}: name {list_choices(list_codebases())}, or a"
            f" directory below {tree} that holds a {MAIN}"
        )
    return Directory(place)


def _load_packaged(value: str, package: str) -> Directory:
    try:
        spec = find_spec(value)
    except (ImportError, ValueError):
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        if (Path(place) / MAIN).is_file():
            return Directory(Path(place))
    raise ProfileError(
        f"{package} announces a codebase in {value!r}, which is no folder with a {MAIN}: mend the"
        f" entry point in the group {GROUP}"
    )
