"""The trees that are asked: published versions, and commits of a clone."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from portkit.errors import ToolError
from portkit.fetch import fetch
from portkit.fetch.registry import query_versions
from portkit.syntax.semver import version_precedence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_LOCK = "Cargo.lock"
_DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies")


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """A commit of a clone: its day, as ``2025-05-15``, and its abbreviated hash."""

    day: str
    name: str


def versions(crate: str, first: str) -> tuple[str, ...]:
    """Return the published versions of a crate from one on, pre-releases too, in their order.

    Args:
        crate: the crate that every version of the codebase has.
        first: the first version.

    Raises:
        FetchError: the registry's index cannot be had.
        ToolError: cargo is missing or too old.
    """
    keys = {version: version_precedence(version) for version in (first, *query_versions(crate))}
    start = keys[first]
    assert start is not None  # a constant of the caller's
    found = sorted((key, version) for version, key in keys.items() if key and key >= start)
    return tuple(version for _, version in found)


def fetched(codebase: str, version: str, place: Path) -> Path:
    """Return the folder of a published version; it is fetched where it is not there.

    Raises:
        FetchError: it cannot be had.
        ToolError: cargo or git is missing or fails.
        DiskError: the folder cannot be written.
    """
    if not place.exists():
        fetch(f"{codebase}@{version}", place)
    return place


def spread(clone: Path, since: str, count: int) -> tuple[Commit, ...]:
    """Return commits of what a clone has checked out, the same distance apart, the newest last.

    Merged branches count as the one commit that brought them in.

    Args:
        clone: a folder with a clone, or its git directory.
        since: the day of the first, as ``2025-05-01``.
        count: how many, from 2 on; all where there are fewer.

    Raises:
        ToolError: git is missing, or this is no clone.
    """
    found = _log(clone, "--first-parent", f"--since={since}T00:00:00Z", "HEAD")
    if len(found) <= count:
        return tuple(found)
    last = len(found) - 1
    return tuple(found[round(i * last / (count - 1))] for i in range(count))


def named(clone: Path, names: Iterable[str]) -> tuple[Commit, ...]:
    """Return the commits that a clone has under these names.

    Raises:
        ToolError: git is missing, or the clone has no such commit.
    """
    return tuple(_log(clone, "-1", name)[0] for name in names)


def checked_out(clone: Path, commit: Commit, place: Path) -> Path:
    """Return a folder with a commit's files; they are written where it is not there.

    Submodules are empty folders, as in a clone without ``--recursive``.

    Raises:
        ToolError: git is missing, or the clone has no such commit.
    """
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            archive = Path(scratch) / "archive.tar"
            _git(clone, "archive", f"--output={archive}", commit.name)
            tree = Path(scratch) / "tree"
            with tarfile.open(archive) as tar:
                # Python has filters from 3.11.4 on ("tarfile", "Supporting older Python versions").
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(tree)
            tree.rename(place)
    return place


def git_dependencies(tree: Path) -> tuple[str, ...]:
    """Return the dependencies that a tree takes from git, as ``float8 (ADDRESS)``, sorted."""
    found = set()
    for manifest in tree.rglob("Cargo.toml"):
        data = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for name, entry in _entries(data):
            if isinstance(entry, dict) and "git" in entry:
                found.add(f"{name} ({entry['git']})")
    return tuple(sorted(found))


def update(tree: Path, fresh: Path) -> None:
    """Give a tree the files of another; what is the same keeps its time, by which cargo goes.

    A lock file that the other has not stays: what has been compiled stays of use.
    """
    before, after = _files(tree), _files(fresh)
    for name in sorted(before - after - {_LOCK}):
        (tree / name).unlink()
    for name in sorted(after):
        if name not in before or (tree / name).read_bytes() != (fresh / name).read_bytes():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / name, tree / name)


def digest(tree: Path) -> str:
    """Return what names the content of a tree, lock file aside: twelve hexadecimal digits."""
    total = sha256()
    for name in sorted(_files(tree) - {_LOCK}):
        total.update(f"{name}\0".encode() + sha256((tree / name).read_bytes()).digest())
    return total.hexdigest()[:12]


def _files(tree: Path) -> set[str]:
    """Return the files of a tree, without those of git."""
    found = (path.relative_to(tree) for path in tree.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if path.parts[0] != ".git"}


def _entries(manifest: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield every dependency of a manifest: the crate's, each target's, the workspace's."""
    tables = [manifest, manifest.get("workspace", {}), *manifest.get("target", {}).values()]
    for table in tables:
        for kind in _DEPENDENCIES:
            yield from table.get(kind, {}).items()


def _log(clone: Path, *arguments: str) -> list[Commit]:
    """Return commits, the oldest first."""
    text = _git(
        clone, "log", "--reverse", "--abbrev=9", "--date=short", "--format=%cd %h", *arguments
    )
    return [Commit(*line.split()) for line in text.splitlines()]


def _git(clone: Path, *arguments: str) -> str:
    folder = clone / ".git" if (clone / ".git").exists() else clone
    command: Sequence[str] = ("git", f"--git-dir={folder}", *arguments)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ToolError("git is missing: install it") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise ToolError(f"git failed in {clone} ({said[-1]}): name a clone that has this commit")
    return done.stdout
