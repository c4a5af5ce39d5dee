"""The user's tree: crates, features, version and the files that portkit scans."""

from __future__ import annotations

import errno
import os
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from portkit.errors import NotAWorkspaceError, ToolError
from portkit.syntax.compressed_source import compress_source
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.cargo_resolution import FILE, Manifests, find_declared_dependencies
from portkit.workspace.lock_file import read_locked_crates
from portkit.workspace.manifest import parse_manifest
from portkit.workspace.regular_files import read_regular

SKIPPED_DIRECTORIES = frozenset({"target", "node_modules", "__pycache__"})
KERNELS = (".cu", ".cuh")
"""How the names of files end that are CUDA's, whatever they say."""
CUDA_CODE = (*KERNELS, ".h", ".hpp", ".cpp")
"""How the names of files end that the CUDA compiler may be given."""
HELD_IN_MEMORY = 32 << 20
"""How many bytes of files are held as they are; more are held compressed."""
LARGEST_FILE = 16 << 20
"""How many bytes a file may have that is looked at; the largest seen has a fortieth."""
SCANNED_FILES = (".rs", ".toml", ".py", ".pyi", ".md", *CUDA_CODE)
"""How the names of files end that are looked at; what is Metal's own by its name is not."""
_NOWHERE = frozenset({errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
"""What the system answers of a link that leads to nothing (path_resolution(7))."""
_DEPENDENCIES = ("dependencies", "dev-dependencies", "build-dependencies")
# https://git-scm.com/docs/git-merge#_how_conflicts_are_presented
_CONFLICT = re.compile(rb"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)
_AFTER_A_MERGE = (
    "{where} holds conflicts of a merge{others}: end the merge first; where it brings a new"
    " upstream version to a port, take upstream's side and run `portkit apply --regenerate` then"
)
_AFTER_A_MERGE_OF_A_PORT = (
    "{where} holds conflicts of a merge with a pure port{others}: end the merge first: take the"
    " port's side and make your change again in it, as `portkit update` said of each place"
)


class Crate(Value, frozen=True):
    """A package of the workspace."""

    name: str
    directory: str  # Relative to the workspace root, ``.`` for a package at the root.
    manifest: Mapping[str, Any]

    @property
    def features(self) -> frozenset[str]:
        """The names of the crate's features."""
        return frozenset(self.manifest.get("features", {}))

    @property
    def build_script(self) -> str | None:
        """The path of its build script, if it has one (the Cargo book, key ``build``)."""
        package = self.manifest.get("package", {})
        said = package.get("build", "build.rs") if isinstance(package, dict) else None
        if said is True:
            said = "build.rs"
        return posixpath.normpath(f"{self.directory}/{said}") if isinstance(said, str) else None

    def depends_on_any(self, crates: Collection[str]) -> bool:
        """Whether its manifest depends on one of some crates."""
        return any(
            name in crates or entry.get("package") in crates
            for _, name, entry in find_declared_dependencies(self.manifest)
        )


class UnreadFile(Value, frozen=True):
    """A file or a folder that could not be read."""

    path: str
    reason: str


class Workspace(Value, frozen=True, dict=True):
    """A Cargo workspace, or a single package, as it is on disk."""

    root: Path
    manifest: Mapping[str, Any]
    sources: Mapping[str, SourceFile]  # Every file that is looked at, by path relative to the root.
    unread: tuple[UnreadFile, ...]

    @property
    def crates(self) -> tuple[Crate, ...]:
        """Every package below the root, members and excluded ones alike, sorted by directory."""
        return self._manifests[0]

    @property
    def left_out(self) -> tuple[UnreadFile, ...]:
        """Every file that could not be read or understood."""
        return (*self.unread, *self._manifests[1])

    @cached_property
    def manifests(self) -> Manifests:
        """Every manifest of the tree, as Cargo would resolve them."""
        return Manifests(
            self._manifests[2],
            lambda folder: _read_manifest(self.root / folder),
            lambda path: path in self.sources or (self.root / path).is_file(),
        )

    @cached_property
    def _manifests(
        self,
    ) -> tuple[tuple[Crate, ...], tuple[UnreadFile, ...], dict[str, dict[str, Any] | None]]:
        crates, odd = [], []
        every: dict[str, dict[str, Any] | None] = {}
        for path, source in self.sources.items():
            if path.rpartition("/")[2] != FILE:
                continue
            folder = str(PurePosixPath(path).parent)
            every[folder] = None
            try:
                manifest = every[folder] = parse_manifest(source.data)
            except tomllib.TOMLDecodeError:
                continue  # PK901 says where
            except ValueError as error:
                odd.append(UnreadFile(path, f"it cannot be read as a manifest ({error})"))
                continue
            name = manifest.get("package", {}).get("name")
            if isinstance(name, str):
                crates.append(Crate(name, folder, manifest))
        return tuple(sorted(crates, key=lambda c: c.directory)), tuple(odd), every

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

    def find_requirement(self, crate: str) -> str:
        """Return the version of a registry crate that the tree requires, or an empty string.

        The workspace's own table counts before those of the packages, which come by directory.
        """
        return self.requirements.get(crate, "")

    @cached_property
    def requirements(self) -> Mapping[str, str]:
        """The version of each registry crate that the tree requires."""
        found: dict[str, str] = {}
        for _, table in self._tables("dependencies"):
            for crate, entry in table.items():
                version = entry.get("version") if isinstance(entry, dict) else entry
                if isinstance(version, str):
                    found.setdefault(crate, version)
        return found

    def depends_on_crate(
        self, crates: Collection[str], *, shared: bool = True, tests: bool = True
    ) -> bool:
        """Whether a manifest of the tree depends on one of some crates, from any source.

        A dependency may be called otherwise than its crate (the Cargo book, chapter "Specifying
        Dependencies", section "Renaming dependencies in Cargo.toml").

        Args:
            shared: whether what the workspace offers counts where no crate takes it.
            tests: whether what tests, examples and build scripts alone take counts.
        """
        offered = self.manifest.get("workspace", {}).get("dependencies", {})
        named = {
            name
            for name, entry in (offered.items() if isinstance(offered, dict) else ())
            if isinstance(entry, dict) and entry.get("package") in crates
        }
        return any(
            name in {*crates, *named}
            or (isinstance(entry, dict) and entry.get("package") in crates)
            for _, table in self._tables(*(_DEPENDENCIES if tests else _DEPENDENCIES[:1]))
            for name, entry in table.items()
            if shared or table is not offered
        )

    def asked(self) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
        """Yield each dependency: the manifest's folder, its name there, its crate, its entry.

        What the workspace says of a crate stands for those that take it from there.
        """
        for directory, table in self._tables(*_DEPENDENCIES):
            for name, entry in table.items():
                said = entry if isinstance(entry, dict) else {"version": entry}
                if said.get("workspace") is not True:
                    yield directory, name, str(said.get("package", name)), said

    @property
    def outside(self) -> frozenset[str]:
        """The folders of dependencies outside the tree, from its root: ``../gpu``."""
        patched = self.manifest.get("patch")
        instead = patched.values() if isinstance(patched, dict) else ()
        tables = [*self._tables(*_DEPENDENCIES), *((".", table) for table in instead)]
        found = (
            posixpath.normpath(posixpath.join(directory, entry["path"]))
            for directory, table in tables
            for entry in (table.values() if isinstance(table, dict) else ())
            if isinstance(entry, dict) and isinstance(entry.get("path"), str)
        )
        return frozenset(path for path in found if path.startswith("../"))

    def _tables(self, *kinds: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the folder and the entries of each table of dependencies, the workspace's first."""
        holders = [(".", self.manifest.get("workspace", {}))]
        for package in self.crates:
            targets = package.manifest.get("target", {})
            own = (package.manifest, *(targets[name] for name in sorted(targets)))
            holders += [(package.directory, holder) for holder in own]
        for directory, holder in holders:
            tables = (holder.get(kind) for kind in kinds) if isinstance(holder, dict) else ()
            yield from ((directory, table) for table in tables if isinstance(table, dict))

    @cached_property
    def locked(self) -> Mapping[str, frozenset[str]]:
        """The crates that each crate of ``Cargo.lock`` needs; empty without that file."""
        return read_locked_crates(self.root)

    def dependency(self, crate: Crate, name: str) -> Mapping[str, Any]:
        """Return the entry of a dependency, merged with the entry of the workspace.

        Args:
            name: what the crate calls it; nothing is returned where it has none of the name.
        """
        own = crate.manifest.get("dependencies", {}).get(name)
        if not isinstance(own, dict):
            return {} if own is None else {"version": own}
        shared = self.manifest.get("workspace", {}).get("dependencies", {}).get(name)
        taken = shared if own.get("workspace") is True else {}
        return {**(taken if isinstance(taken, dict) else {"version": taken}), **own}

    def crate_of(self, path: str) -> Crate | None:
        """Return the innermost crate whose directory holds ``path``."""
        around = (
            c for c in self.crates if c.directory == "." or path.startswith(f"{c.directory}/")
        )
        return max(around, key=lambda crate: len(crate.directory), default=None)

    def is_build_script(self, path: str) -> bool:
        """Whether a file is the build script of a crate (the Cargo book, key ``build``)."""
        crate = self.crate_of(path)
        return crate is not None and path.endswith(".rs") and crate.build_script == path


def find_workspace_root(path: Path) -> Path | None:
    """Return the root of the workspace that a file or a folder belongs to; None without one.

    It is the innermost folder above whose ``Cargo.toml`` has a workspace, else the innermost that
    has one (the Cargo book, chapter "Workspaces").
    """
    innermost = None
    path = path.resolve()
    for folder in (path, *path.parents):
        manifest = _read_manifest(folder)
        if manifest is not None and "workspace" in manifest:
            return folder
        innermost = innermost or (folder if manifest is not None else None)
    return innermost


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest in a folder; None if there is none that can be read."""
    try:
        return parse_manifest(read_regular(folder / FILE, LARGEST_FILE))
    except (OSError, ValueError):
        return None


def check_folder(directory: Path) -> None:
    """Refuse a workspace that is no folder."""
    if not directory.is_dir():
        there = "is no folder" if directory.exists() else "does not exist"
        raise NotAWorkspaceError(
            f"{directory} {there}: name the directory of the workspace's root manifest"
        )


def read_root_manifest(directory: Path) -> dict[str, Any]:
    """Return the root manifest of the workspace at ``directory``."""
    check_folder(directory)
    manifest_path = directory / "Cargo.toml"
    try:
        manifest = parse_manifest(read_regular(manifest_path, LARGEST_FILE))
    except FileNotFoundError:
        raise NotAWorkspaceError(
            f"{directory} is not a Cargo workspace: it has no Cargo.toml; "
            "name the directory of the workspace's root manifest"
        ) from None
    except (OSError, ValueError) as error:
        raise NotAWorkspaceError(_describe_fault(manifest_path, error)) from None
    if "workspace" not in manifest and "package" not in manifest:
        raise NotAWorkspaceError(
            f"{manifest_path} has neither [workspace] nor [package]; "
            "name the directory of the workspace's root manifest"
        )
    above = None if "workspace" in manifest else _find_workspace_above(directory)
    if above is not None:
        raise NotAWorkspaceError(
            f"{directory} is one crate of the workspace in {above}, which is ported as a whole;"
            " name that directory"
        )
    return manifest


def load_workspace(directory: Path) -> Workspace:
    """Read the workspace at ``directory``.

    Symbolic links are never followed: what they lead to is not part of the tree.

    Raises:
        NotAWorkspaceError: there is no readable ``Cargo.toml`` with a package or a workspace, or a
            file holds the conflicts of a merge.
    """
    manifest = read_root_manifest(directory)
    sources: dict[str, SourceFile] = {}
    merging: list[tuple[str, int]] = []
    held = 0
    paths, unread = _find_files(directory)
    for path in paths:
        try:
            # To make a `Path` takes longer than to read the file.
            data = read_regular(f"{directory}/{path}", LARGEST_FILE, follow=False)
        except OSError as error:
            unread.append(UnreadFile(path, f"it cannot be read ({error.strerror})"))
            continue
        try:
            if not data.isascii():  # as most files are, and to decode them takes longer
                data.decode()
        except UnicodeDecodeError as error:
            unread.append(UnreadFile(path, f"it is not UTF-8 (byte {error.start})"))
            continue
        source = SourceFile(path, data)
        merging += _find_conflicts(source)
        held += len(data)
        sources[path] = source if held <= HELD_IN_MEMORY else compress_source(path, data)
    _check_merged(directory, merging)
    return Workspace(directory, manifest, sources, tuple(unread))


def _describe_fault(manifest: Path, error: Exception) -> str:
    """Return a message about a root manifest that cannot be read."""
    try:
        data = read_regular(manifest, LARGEST_FILE)
    except OSError:
        data = b""
    line = _find_conflict(data)
    if line:
        return _suggest_ending_merge(manifest.parent).format(where=f"{manifest}:{line}", others="")
    return f"{manifest} cannot be read as a manifest ({error}); mend it first"


def _find_conflict(data: bytes) -> int:
    """Return the line, from 1, of the first merge conflict in a file; 0 if there is none."""
    if b"<<<<<<<" not in data:  # the pattern below takes far longer
        return 0
    found = _CONFLICT.search(data)
    return data.count(b"\n", 0, found.start()) + 1 if found else 0


def _find_conflicts(source: SourceFile) -> Iterator[tuple[str, int]]:
    """Yield a file of code and the line of its first merge conflict, if it has one."""
    line = 0 if source.path.endswith(".md") else _find_conflict(source.data)
    # A text in Rust may hold what looks like a conflict.
    if line and not (source.path.endswith(".rs") and not source.tree.root_node.has_error):
        yield source.path, line


def _check_merged(root: Path, found: Sequence[tuple[str, int]]) -> None:
    """Refuse a tree in the middle of a merge."""
    if found:
        (path, line), *more = found
        others = f" ({len(more)} more file{'s do' if len(more) > 1 else ' does'})" if more else ""
        where = f"{root / path}:{line}"
        raise NotAWorkspaceError(_suggest_ending_merge(root).format(where=where, others=others))


def _suggest_ending_merge(root: Path) -> str:
    """Return advice about an unfinished merge: of upstream, or of a generated port."""
    from portkit.workspace.generated_ports import read_generated_port  # few trees are being merged

    try:
        merged = read_generated_port(root, "MERGE_HEAD")
    except ToolError:
        merged = None
    return _AFTER_A_MERGE if merged is None else _AFTER_A_MERGE_OF_A_PORT


def _find_workspace_above(directory: Path) -> Path | None:
    """Return the root of the workspace that a package is a member of, as cargo looks for it.

    The nearest manifest above that has a ``[workspace]``, unless its ``members`` do not name the
    package (https://doc.rust-lang.org/cargo/reference/workspaces.html).
    """
    place = directory.resolve()
    for above in place.parents:
        manifest = _read_manifest(above)
        if manifest is not None and "workspace" in manifest:
            members = manifest["workspace"].get("members")
            path = place.relative_to(above).as_posix()
            named = isinstance(members, list) and any(
                isinstance(member, str) and PurePosixPath(path).match(member) for member in members
            )
            return above if named else None
    return None


def _find_files(root: Path) -> tuple[list[str], list[UnreadFile]]:
    """Return the files to scan, sorted, and those that cannot be read.

    A link is not followed. What it leads to is looked at where it stands, if that is in the tree.
    """
    found: list[str] = []
    unread: list[UnreadFile] = []
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            with os.scandir(root / below) as listed:
                entries = list(listed)
        except OSError as error:
            unread.append(UnreadFile(below[:-1] or ".", f"it cannot be listed ({error.strerror})"))
            continue
        for entry in entries:
            path = f"{below}{entry.name}"
            if entry.is_symlink():
                if why := _explain_skipped_link(root, entry):
                    unread.append(UnreadFile(path, why))
                continue
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in SKIPPED_DIRECTORIES:
                    pending.append(path + "/")
            elif entry.name.endswith(SCANNED_FILES) and entry.is_file(follow_symlinks=False):
                found.append(path)
    return sorted(found), sorted(unread, key=lambda each: each.path)


def _explain_skipped_link(root: Path, link: os.DirEntry[str]) -> str:
    """Return why the target of a link is not scanned, as half a sentence.

    Empty where nothing is missed: the link leads to what is looked at where it stands, or to what
    would not be looked at inside of the tree either.
    """
    hidden = link.name.startswith(".") or link.name in SKIPPED_DIRECTORIES
    named = link.name.endswith(SCANNED_FILES)
    if not named and (hidden or not _may_be_folder(link)):
        return ""
    # A ring of links has no end for `Path.resolve` before Python 3.13.
    if not Path(os.path.realpath(link.path)).is_relative_to(root.resolve()):
        return "it is a link out of the tree, and not followed"
    # What is hidden is an editor's: Emacs locks a file by a link that leads nowhere.
    return "" if hidden or _target_exists(link) else "it is a link that leads nowhere"


def _target_exists(link: os.DirEntry[str]) -> bool:
    """Whether the target of a link exists, or may exist."""
    try:
        link.stat()
    except OSError as error:
        return error.errno not in _NOWHERE
    return True


def _may_be_folder(link: os.DirEntry[str]) -> bool:
    """Whether the target of a link is a folder, or may be one."""
    try:
        return link.is_dir()
    except OSError as error:
        return error.errno not in _NOWHERE
