"""A published workspace: its crates from the registry, its layout from what they say of it."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from portkit.cache import read_cached, write_cached
from portkit.codebases.known import announced, brought
from portkit.errors import DiskError, FetchError, ProfileError
from portkit.fetch import registry
from portkit.fetch.crate import File, read_crate, write_files
from portkit.fetch.repository import commit_tree
from portkit.fetch.root_manifest import root_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.fetch.crate import Crate

# A name and a full version, with a pre-release and build metadata or without (semver.org).
_SPEC: Final = re.compile(r"([a-z0-9_-]+)@(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)", re.ASCII)

_FILE: Final = "fetch.toml"

# The folder of the cache with the hashes of the archives of each fetched version.
_NOTES: Final = "fetched"


@dataclass(frozen=True, slots=True)
class FetchedWorkspace:
    """A workspace as it was published.

    Attributes:
        name: the codebase.
        version: the version of its crates.
        path: the root of the new workspace, a git repository.
        commit: the hash of its only commit, the same for everyone who fetches this version.
        crates: the crates in it, sorted.
        absent: crates of the codebase that have no such version, sorted.
        upstream_commits: the commits of the codebase's own repository that the crates were
            published from, sorted; nearly always one.
    """

    name: str
    version: str
    path: Path
    commit: str
    crates: tuple[str, ...]
    absent: tuple[str, ...]
    upstream_commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Codebase:
    """A ``fetch.toml``; its comments say what the keys mean."""

    name: str
    crates: tuple[str, ...]
    main: str
    root: str


def fetch(spec: str, destination: Path, *, offline: bool = False) -> FetchedWorkspace:
    """Rebuild a published workspace from its crates, as a git repository with one commit.

    Args:
        spec: a codebase and an exact version, as ``toy@1.2.3``.
        destination: where the workspace shall stand: a path that does not exist, or an empty
            folder. The workspace appears there whole or not at all.
        offline: take everything from cargo's cache; the version must have been fetched before.

    Raises:
        FetchError: the destination is taken, the spec is wrong, or the version does not exist,
            cannot be downloaded or cannot be rebuilt.
        ToolError: cargo or git is missing, too old or fails.
        DiskError: the destination or the cache cannot be written.
    """
    codebase, version = _parse(spec)
    destination = destination.resolve()
    _check_free(destination)
    archives = _archives(codebase, version, offline=offline)
    crates = [read_crate(archive, name, version) for name, archive in archives.items()]
    files = _assemble(crates, root_manifest(crates, codebase.root))
    hashes = {name: registry.file_sha256(archive) for name, archive in archives.items()}
    write_cached(_NOTES, _note(codebase, version), json.dumps(hashes, indent=1))
    message = f"{codebase.name} {version}, as published on the Rust registry\n"
    return FetchedWorkspace(
        name=codebase.name,
        version=version,
        path=destination,
        commit=_place(files, destination, message),
        crates=tuple(archives),
        absent=tuple(sorted(set(codebase.crates) - set(archives))),
        upstream_commits=tuple(sorted({crate.commit for crate in crates if crate.commit})),
    )


def _parse(spec: str) -> tuple[_Codebase, str]:
    """Return the codebase and the version that a spec names."""
    match = _SPEC.fullmatch(spec)
    codebases = {**brought(), **announced()}
    known = [name for name, directory in sorted(codebases.items()) if directory.has(_FILE)]
    if match is None or match[1] not in known:
        raise FetchError(
            f"`{spec}` names no published workspace: write NAME@VERSION, with a full version such"
            f" as 1.2.3 and one of these names: {', '.join(known)}"
        )
    name, version = match.groups()
    data = codebases[name].table(_FILE)
    try:
        return _Codebase(name, tuple(data["crates"]), data["main"], data["root"]), version
    except (KeyError, TypeError) as error:
        raise ProfileError(f"{codebases[name].root / _FILE} is malformed: {error!r}") from None


def _check_free(destination: Path) -> None:
    """Refuse a destination that holds something, or whose replacement would strand the shell."""
    if destination == Path.cwd():
        raise FetchError(f"{destination} is the current folder: name a new one")
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise FetchError(f"{destination} exists and is not an empty folder: name a new one")


def _archives(codebase: _Codebase, version: str, *, offline: bool) -> dict[str, Path]:
    """Return the archives of the crates that have this version, by name, sorted.

    A successful run notes their hashes in the user's cache. A later one takes what it knows from
    cargo's cache and asks only for what was absent, since that may have been published meanwhile.
    Offline, the note tells that nothing else is to be had.
    """
    noted: dict[str, str] = json.loads(read_cached(_NOTES, _note(codebase, version)) or "{}")
    if offline and not noted:
        raise FetchError(
            f"{codebase.name} {version} was not fetched here before: run without --offline"
        )
    archives: dict[str, Path] = {}
    for name in sorted(codebase.crates):
        sha256 = noted.get(name)
        archive = registry.downloaded(name, version, sha256) if sha256 else None
        if archive is None and not offline:
            archive = registry.download(name, version, sha256)
        if archive is not None:
            archives[name] = archive
        elif sha256:
            raise FetchError(f"cargo's cache no longer has {name} {version}: run without --offline")
    if codebase.main not in archives:
        raise FetchError(
            f"the Rust registry has no {codebase.main} {version}: name a published version of"
            f" {codebase.name}"
        )
    return archives


def _note(codebase: _Codebase, version: str) -> str:
    return f"{codebase.name}-{version}.json"


def _assemble(crates: Sequence[Crate], root: str) -> dict[PurePosixPath, File]:
    """Return the files of the workspace by their path in it."""
    files = {PurePosixPath("Cargo.toml"): File(root.encode())}
    for crate in crates:
        for path, file in crate.files.items():
            if crate.folder / path in files:
                raise FetchError(
                    f"{crate.name} holds {crate.folder / path}, which another crate has as well,"
                    " so that the workspace cannot be rebuilt: fetch another version"
                )
            files[crate.folder / path] = file
    return files


def _place(files: Mapping[PurePosixPath, File], destination: Path, message: str) -> str:
    """Write and commit the files beside the destination, move them there, return the hash."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".portkit-") as scratch:
            tree = Path(scratch) / "tree"
            tree.mkdir()
            write_files(files, tree)
            commit = commit_tree(tree, message)
            tree.rename(destination)
    except OSError as error:
        raise DiskError(
            f"{destination} could not be written ({error.strerror}): make room, or name a folder"
            " that can be written"
        ) from error
    return commit
