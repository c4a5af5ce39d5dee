"""One published crate: its files and its two manifests, read from the archive."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tomllib
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from portkit.cache import cached_folder
from portkit.errors import FetchError
from portkit.fetch import registry
from portkit.workspace.path_checks import find_path_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANIFEST: Final = PurePosixPath("Cargo.toml")
_ORIGINAL_MANIFEST: Final = PurePosixPath("Cargo.toml.orig")
_VCS_INFO: Final = PurePosixPath(".cargo_vcs_info.json")

# Written by `cargo package`, not by the crate's authors (The Cargo Book, "cargo package").
_ADDED_BY_CARGO: Final = frozenset({_MANIFEST, PurePosixPath("Cargo.lock"), _VCS_INFO})

# What cargo itself refuses to unpack (MAX_UNPACK_SIZE in src/cargo/sources/registry/mod.rs).
_LARGEST_UNPACKED: Final = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File:
    """The content of a file and whether it may be executed."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Crate:
    """A published crate."""

    name: str  # the package's name
    folder: PurePosixPath  # where the crate stands in its repository
    commit: str | None  # the commit that it was published from, where cargo recorded one
    original: Mapping[str, Any]  # the manifest as its authors wrote it
    # the manifest as published, where nothing is inherited from a workspace
    normalized: Mapping[str, Any]
    # the files as they stood in the repository, by their path in the crate
    files: Mapping[PurePosixPath, File]


def read_crate(archive: Path, name: str, version: str) -> Crate:
    """Read a crate from its archive."""
    published = read_archive(archive, f"{name}-{version}")
    try:
        original = tomllib.loads(published[_ORIGINAL_MANIFEST].data.decode())
        normalized = tomllib.loads(published[_MANIFEST].data.decode())
        vcs = json.loads(published[_VCS_INFO].data) if _VCS_INFO in published else {}
        folder = vcs.get("path_in_vcs") or name
        commit = vcs.get("git", {}).get("sha1")
        if (normalized["package"]["name"], normalized["package"]["version"]) != (name, version):
            raise ValueError("its manifest is another crate's")
        if fault := find_path_fault(folder):
            raise ValueError(f"its folder {folder!r} {fault}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _make_untrusted_error(archive, error) from error
    files = {path: file for path, file in published.items() if path not in _ADDED_BY_CARGO}
    files[_MANIFEST] = files.pop(_ORIGINAL_MANIFEST)
    return Crate(name, PurePosixPath(folder), commit, original, normalized, files)


def fetch_crate(name: str, version: str, *, offline: bool = False) -> Path:
    """Return a folder of the user's cache with one crate as it was published, read-only."""
    archive = registry.find_downloaded(name, version)
    if archive is None and not offline:
        archive = registry.download_archive(name, version)
    if archive is None and offline:
        raise FetchError(f"cargo's cache has no {name} {version}: run without --offline")
    if archive is None:
        raise FetchError(f"the Rust registry has no {name} {version}: name a published version")
    files = read_archive(archive, f"{name}-{version}")
    key = f"{name}-{version}-{registry.compute_sha256(archive)[:16]}"
    return cached_folder("crates", key, lambda folder: write_files(files, folder, read_only=True))


def read_archive(archive: Path, root: str) -> dict[PurePosixPath, File]:
    """Return the files of an archive by their path below ``root``, the only folder it may have."""
    files: dict[PurePosixPath, File] = {}
    try:
        # Read to its end before anything is taken from it: only then gzip compares its checksum.
        with gzip.open(archive) as compressed:
            data = compressed.read(_LARGEST_UNPACKED + 1)
        if len(data) > _LARGEST_UNPACKED:
            raise ValueError(f"it holds more than {_LARGEST_UNPACKED} bytes")
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if fault := find_path_fault(member.name):
                    raise ValueError(f"the path {member.name!r} {fault}")
                top, *below = member.name.split("/")
                path = PurePosixPath(*below)
                # A sparse member says how much it holds, and may say anything; cargo makes none.
                plain = member.isreg() and not member.issparse()
                content = tar.extractfile(member) if plain else None
                if content is None or top != root or not below:
                    raise ValueError(f"{member.name!r} is no plain file in {root}")
                if path in files:
                    raise ValueError(f"{member.name!r} occurs twice")
                files[path] = File(content.read(), executable=bool(member.mode & 0o100))
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        raise _make_untrusted_error(archive, error) from error
    return files


def write_files(
    files: Mapping[PurePosixPath, File], folder: Path, *, read_only: bool = False
) -> None:
    """Write files below a folder that holds none of them yet."""
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as new:
            new.write(file.data)
        place.chmod((0o444 if read_only else 0o644) | (0o111 if file.executable else 0))


def _make_untrusted_error(archive: Path, error: Exception) -> FetchError:
    return FetchError(
        f"{archive} is not an archive as `cargo package` makes it ({error}): delete it and fetch"
        " again"
    )
