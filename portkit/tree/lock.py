"""What a lock file says of the crates below a tree: which needs which."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

from portkit.tree.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

NAME: Final = "Cargo.lock"
LARGEST: Final = 16 << 20
"""How many bytes a lock file may have; that of a server with 900 crates has 250,000."""


def locked(root: Path) -> Mapping[str, frozenset[str]]:
    """Return the crates that each crate of a lock file needs, by names; nothing without one.

    Several versions of a crate are one here. Source: Cargo, module ``core::resolver::encode``: a
    ``[[package]]`` lists its dependencies as ``"name"``, ``"name version"`` or with a source.

    Args:
        root: the folder of the lock file.
    """
    try:
        said: Any = tomllib.loads(read_regular(root / NAME, LARGEST).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    found: dict[str, set[str]] = {}
    packages = said.get("package")
    for package in packages if isinstance(packages, list) else ():
        if not isinstance(package, dict) or not isinstance(package.get("name"), str):
            continue
        needed = package.get("dependencies")
        listed = needed if isinstance(needed, list) else ()
        names = (each.split(" ")[0] for each in listed if isinstance(each, str))
        found.setdefault(package["name"], set()).update(names)
    return {name: frozenset(needed) for name, needed in found.items()}


def reached(
    crates: Mapping[str, frozenset[str]], first: str, wanted: Collection[str]
) -> tuple[str, ...]:
    """Return the shortest way from a crate to one of some crates, both included; else nothing.

    Args:
        crates: what each crate needs.
        first: the crate to begin at.
        wanted: the crates that are looked for.
    """
    ways: dict[str, tuple[str, ...]] = {first: (first,)}
    pending = [first]
    for name in pending:
        if name in wanted:
            return ways[name]
        for needed in sorted(crates.get(name, ())):
            if needed not in ways:
                ways[needed] = (*ways[name], needed)
                pending.append(needed)
    return ()
