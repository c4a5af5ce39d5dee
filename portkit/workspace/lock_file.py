"""The lock file of a tree: which crate needs which."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from portkit.workspace.regular_files import read_regular

NAME: Final = "Cargo.lock"
LARGEST: Final = 16 << 20
"""How many bytes a lock file may have; that of a server with 900 crates has 250,000."""


def read_locked_crates(root: Path) -> Mapping[str, frozenset[str]]:
    """Return the crates that each crate of a lock file needs, by names; nothing without one.

    Several versions of a crate are one here. Source: Cargo, module ``core::resolver::encode``: a
    ``[[package]]`` lists its dependencies as ``"name"``, ``"name version"`` or with a source.
    """
    found: dict[str, set[str]] = {}
    for package in _read_packages(root):
        needed = package.get("dependencies")
        listed = needed if isinstance(needed, list) else ()
        names = (each.split(" ")[0] for each in listed if isinstance(each, str))
        found.setdefault(package["name"], set()).update(names)
    return {name: frozenset(needed) for name, needed in found.items()}


def find_locked_version(root: Path, crate: str) -> str:
    """Return the version of a crate in a lock file; empty if there is not exactly one."""
    found = {each.get("version") for each in _read_packages(root) if each["name"] == crate}
    only = found.pop() if len(found) == 1 else None
    return only if isinstance(only, str) else ""


def find_needed_versions(root: Path, crate: str, dependency: str) -> frozenset[str]:
    """Return the versions of a dependency that a crate needs by a lock file; none without one."""
    packages = [*_read_packages(root)]
    every = {str(each.get("version")) for each in packages if each["name"] == dependency}
    found: set[str] = set()
    for package in packages:
        listed = package.get("dependencies") if package["name"] == crate else ()
        for each in listed if isinstance(listed, list) else ():
            name, _, rest = str(each).partition(" ")
            if name == dependency:  # with its version where there are several
                found |= {rest.split(" ")[0]} if rest else every
    return frozenset(found)


def _read_packages(root: Path) -> Iterator[Mapping[str, Any]]:
    try:
        said: Any = tomllib.loads(read_regular(root / NAME, LARGEST).decode())
    except (OSError, ValueError, RecursionError):
        return
    packages = said.get("package")
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict) and isinstance(package.get("name"), str):
            yield package


def find_dependency_path(
    crates: Mapping[str, frozenset[str]], first: str, wanted: Collection[str]
) -> tuple[str, ...]:
    """Return the shortest way from a crate to one of some crates, both included; else nothing."""
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
