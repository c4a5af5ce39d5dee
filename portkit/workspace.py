"""The user's tree: crates, features, version and the files that are looked at."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from portkit.errors import NotAWorkspaceError
from portkit.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

SKIPPED_DIRECTORIES = frozenset({"target", "node_modules", "__pycache__"})
CUDA_CODE = (".cu", ".cuh", ".h", ".hpp", ".cpp")
"""How the names of files end that the CUDA compiler may be given."""
LOOKED_AT = (".rs", ".toml", ".py", ".pyi", ".md", *CUDA_CODE)
"""How the names of files end that are looked at; what is Metal's own by its name is not."""


@dataclass(frozen=True)
class Crate:
    """A package of the workspace.

    Attributes:
        name: the package's name.
        directory: relative to the workspace root, ``.`` for a package at the root.
        manifest: the parsed ``Cargo.toml``.
    """

    name: str
    directory: str
    manifest: Mapping[str, Any]

    @property
    def features(self) -> frozenset[str]:
        """The names of the crate's features."""
        return frozenset(self.manifest.get("features", {}))


@dataclass(frozen=True)
class Unread:
    """A file that could not be looked at.

    Attributes:
        path: relative to the root.
        reason: why, as half a sentence.
    """

    path: str
    reason: str


@dataclass(frozen=True)
class Workspace:
    """A Cargo workspace, or a single package, as it stands on disk.

    Attributes:
        root: the directory of the root manifest.
        manifest: the parsed root manifest.
        sources: every file that is looked at, by path relative to the root.
        unread: files that could not be read, in order.
    """

    root: Path
    manifest: Mapping[str, Any]
    sources: Mapping[str, Source]
    unread: tuple[Unread, ...]

    @cached_property
    def crates(self) -> tuple[Crate, ...]:
        """Every package below the root, members and excluded ones alike, sorted by directory."""
        found = []
        for path, source in self.sources.items():
            if PurePosixPath(path).name != "Cargo.toml":
                continue
            try:
                manifest = tomllib.loads(source.data.decode())
            except (tomllib.TOMLDecodeError, UnicodeDecodeError):
                continue
            name = manifest.get("package", {}).get("name")
            if isinstance(name, str):
                found.append(Crate(name, str(PurePosixPath(path).parent), manifest))
        return tuple(sorted(found, key=lambda c: c.directory))

    @cached_property
    def version(self) -> str:
        """The version of the workspace, or of its first crate that states one, else empty."""
        shared = self.manifest.get("workspace", {}).get("package", {}).get("version")
        if isinstance(shared, str):
            return shared
        for crate in self.crates:
            version = crate.manifest["package"].get("version")
            if isinstance(version, str):
                return version
        return ""

    def crate_of(self, path: str) -> Crate | None:
        """Return the innermost crate whose directory holds ``path``."""
        best: Crate | None = None
        for crate in self.crates:
            inside = crate.directory == "." or path.startswith(crate.directory + "/")
            if inside and (best is None or len(crate.directory) > len(best.directory)):
                best = crate
        return best


def load(directory: Path) -> Workspace:
    """Read the workspace at ``directory``.

    Symbolic links are never followed: what they lead to is not part of the tree.

    Args:
        directory: the directory that holds the root ``Cargo.toml``.

    Raises:
        NotAWorkspaceError: there is no readable ``Cargo.toml`` with a package or a workspace.
    """
    manifest_path = directory / "Cargo.toml"
    try:
        manifest = tomllib.loads(manifest_path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotAWorkspaceError(
            f"{directory} is not a Cargo workspace: it has no Cargo.toml; "
            "name the directory of the workspace's root manifest"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NotAWorkspaceError(
            f"{manifest_path} cannot be read as a manifest ({error}); mend it first"
        ) from None
    if "workspace" not in manifest and "package" not in manifest:
        raise NotAWorkspaceError(
            f"{manifest_path} has neither [workspace] nor [package]; "
            "name the directory of the workspace's root manifest"
        )
    sources: dict[str, Source] = {}
    unread: list[Unread] = []
    for path in _files(directory):
        try:
            # To make a `Path` takes longer than to read the file.
            with open(f"{directory}/{path}", "rb") as file:  # noqa: PTH123
                data = file.read()
        except OSError as error:
            unread.append(Unread(path, f"it cannot be read ({error.strerror})"))
            continue
        try:
            data.decode()
        except UnicodeDecodeError as error:
            unread.append(Unread(path, f"it is not UTF-8 (byte {error.start})"))
            continue
        sources[path] = Source(path, data)
    return Workspace(directory, manifest, sources, tuple(unread))


def _files(root: Path) -> list[str]:
    found: list[str] = []
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            entries = list(os.scandir(root / below))
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink():
                continue
            path = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in SKIPPED_DIRECTORIES:
                    pending.append(path + "/")
            elif entry.name.endswith(LOOKED_AT) and entry.is_file(follow_symlinks=False):
                found.append(path)
    return sorted(found)
