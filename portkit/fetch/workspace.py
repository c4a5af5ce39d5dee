"""A published workspace: its crates from the registry, its layout from what they say of it."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from msgspec import Meta, Struct

from portkit.cache import cached_names, read_cached, write_cached
from portkit.codebases.registry import find_announced, find_shipped
from portkit.errors import DiskError, FetchError
from portkit.fetch import registry
from portkit.fetch.crate import File, read_crate, write_files
from portkit.fetch.repository import commit_tree
from portkit.fetch.root_manifest import build_root_manifest
from portkit.syntax.semver import is_release, version_precedence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.fetch.crate import Crate

LATEST: Final = "latest"
"""What stands for the last release in a spec."""

# A name and a full version, with a pre-release and build metadata or without (semver.org).
_SPEC: Final = re.compile(
    rf"([a-z0-9_-]+)@({LATEST}|\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)", re.ASCII
)

_FILE: Final = "fetch.toml"

# The folder of the cache with the hashes of the archives of each fetched version.
_NOTES: Final = "fetched"


@dataclass(frozen=True, slots=True)
class FetchedWorkspace:
    """A workspace as it was published."""

    name: str  # the codebase
    version: str  # the version of its crates
    path: Path  # the root of the new workspace, a git repository
    commit: str  # the hash of its only commit, the same for everyone who fetches this version
    crates: tuple[str, ...]  # the crates in it, sorted
    absent: tuple[str, ...]  # crates of the codebase that have no such version, sorted
    # the commits of the codebase's own repository that the crates were published from, sorted;
    # nearly always one
    upstream_commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """A version of a codebase that can be fetched."""

    version: str  # its number
    fetched: bool  # whether it was fetched before, so that ``--offline`` has it
    latest: bool  # whether it is the last release


class FetchFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a codebase's published workspace is rebuilt."""

    crates: Annotated[
        tuple[str, ...],
        Meta(min_length=1, description="Every crate that was ever published from its repository."),
    ]
    main: Annotated[str, Meta(description="The crate without which a version does not exist.")]
    root: Annotated[
        str, Meta(description="Tables of the root manifest that are published with no crate.")
    ] = ""


class _Codebase(NamedTuple):
    name: str
    file: FetchFile


def list_published_crates(directory: Directory) -> tuple[str, ...]:
    """Return the crates of a codebase that were ever published; none where it does not say."""
    return directory.typed(_FILE, FetchFile).crates if directory.has(_FILE) else ()


def fetch(spec: str, destination: Path, *, offline: bool = False) -> FetchedWorkspace:
    """Rebuild a published workspace from its crates, as a git repository with one commit.

    ``destination``: where the workspace shall stand: a path that does not exist, or an empty
        folder. The workspace appears there whole or not at all.
    ``offline``: take everything from cargo's cache; the version must have been fetched before.

    Raises:
        FetchError: the destination is taken, the spec is wrong, or the version does not exist,
            cannot be downloaded or cannot be rebuilt.
        ToolError: cargo or git is missing, too old or fails.
        DiskError: the destination or the cache cannot be written.
    """
    codebase, version = _parse_spec(spec)
    destination = destination.resolve()
    _check_free(destination)
    if version == LATEST:
        version = _find_latest(codebase, offline=offline)
    archives = _download_archives(codebase, version, offline=offline)
    crates = [read_crate(archive, name, version) for name, archive in archives.items()]
    files = _assemble_files(crates, build_root_manifest(crates, codebase.file.root))
    hashes = {name: registry.compute_sha256(archive) for name, archive in archives.items()}
    write_cached(_NOTES, _describe_version(codebase, version), json.dumps(hashes, indent=1))
    message = f"{codebase.name} {version}, as published on the Rust registry\n"
    return FetchedWorkspace(
        name=codebase.name,
        version=version,
        path=destination,
        commit=_place_files(files, destination, message),
        crates=tuple(archives),
        absent=tuple(sorted(set(codebase.file.crates) - set(archives))),
        upstream_commits=tuple(sorted({crate.commit for crate in crates if crate.commit})),
    )


def list_fetchable() -> tuple[str, ...]:
    """Return the names of the codebases whose workspaces are rebuilt, sorted."""
    return tuple(
        name for name, directory in sorted(_find_directories().items()) if directory.has(_FILE)
    )


def list_published_versions(
    name: str, *, offline: bool = False, ask: bool = True
) -> tuple[PublishedVersion, ...]:
    """Return the versions of a codebase that can be fetched, the newest first.

    ``ask``: whether the registry is asked; otherwise what cargo last saw counts.
    """
    codebase = _load_codebase(name)
    before = _find_fetched(codebase)
    found = set(before)
    if not offline:
        asked = registry.query_versions if ask else registry.read_indexed_versions
        found |= set(asked(codebase.file.main))
    keys = ((version_precedence(version), version) for version in found)
    ordered = [v for _, v in sorted(((key, v) for key, v in keys if key), reverse=True)]
    last = next(filter(is_release, ordered), "")
    return tuple(PublishedVersion(v, v in before, v == last) for v in ordered)


def _find_latest(codebase: _Codebase, *, offline: bool) -> str:
    """Return the last release."""
    found = list_published_versions(codebase.name, offline=offline)
    for each in found:
        if each.latest:
            return each.version
    if offline:
        raise FetchError(f"no release of {codebase.name} was fetched here: run without --offline")
    raise FetchError(
        f"{codebase.name} has no release yet, only {', '.join(v.version for v in found)}: name one"
    )


def _find_fetched(codebase: _Codebase) -> frozenset[str]:
    """Return the versions that were fetched before, all of whose archives are there still."""
    found = set()
    for key in cached_names(_NOTES):
        version = key.removeprefix(f"{codebase.name}-").removesuffix(".json")
        if version_precedence(version) is not None and key == _describe_version(codebase, version):
            crates = json.loads(read_cached(_NOTES, key) or "{}")
            if crates and all(registry.is_downloaded(crate, version) for crate in crates):
                found.add(version)
    return frozenset(found)


def _parse_spec(spec: str) -> tuple[_Codebase, str]:
    """Return the codebase and the version that a spec names."""
    match = _SPEC.fullmatch(spec)
    if match is None or match[1] not in list_fetchable():
        raise FetchError(
            f"`{spec}` names no published workspace: write NAME@VERSION, with a full version such"
            f" as 1.2.3, or {LATEST}, and one of these names: {', '.join(list_fetchable())}"
        )
    return _load_codebase(match[1]), match[2]


def _load_codebase(name: str) -> _Codebase:
    """Return a codebase."""
    if name not in list_fetchable():
        raise FetchError(
            f"`{name}` names no published codebase: name one of these:"
            f" {', '.join(list_fetchable())}"
        )
    return _Codebase(name, _find_directories()[name].typed(_FILE, FetchFile))


def _find_directories() -> dict[str, Directory]:
    return {**find_shipped(), **find_announced()}


def _check_free(destination: Path) -> None:
    """Refuse a destination that holds something, or whose replacement would strand the shell."""
    if destination == Path.cwd():
        raise FetchError(f"{destination} is the current folder: name a new one")
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise FetchError(f"{destination} exists and is not an empty folder: name a new one")


def _download_archives(codebase: _Codebase, version: str, *, offline: bool) -> dict[str, Path]:
    """Return the archives of the crates that have this version, by name, sorted.

    A successful run notes their hashes in the user's cache. A later one takes what it knows from
    cargo's cache and asks only for what was absent, since that may have been published meanwhile.
    Offline, the note tells that nothing else is to be had.
    """
    noted: dict[str, str] = json.loads(
        read_cached(_NOTES, _describe_version(codebase, version)) or "{}"
    )
    if offline and not noted:
        raise FetchError(
            f"{codebase.name} {version} was not fetched here before: run without --offline"
        )
    archives: dict[str, Path] = {}
    for name in sorted(codebase.file.crates):
        sha256 = noted.get(name)
        archive = registry.find_downloaded(name, version, sha256) if sha256 else None
        if archive is None and not offline:
            archive = registry.download_archive(name, version, sha256)
        if archive is not None:
            archives[name] = archive
        elif sha256:
            raise FetchError(f"cargo's cache no longer has {name} {version}: run without --offline")
    if codebase.file.main not in archives:
        raise FetchError(
            f"the Rust registry has no {codebase.file.main} {version}: `portkit fetch"
            f" {codebase.name}` lists those that are published"
        )
    return archives


def _describe_version(codebase: _Codebase, version: str) -> str:
    return f"{codebase.name}-{version}.json"


def _assemble_files(crates: Sequence[Crate], root: str) -> dict[PurePosixPath, File]:
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


def _place_files(files: Mapping[PurePosixPath, File], destination: Path, message: str) -> str:
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
