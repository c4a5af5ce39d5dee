"""From what a user asks for to a scan: the profiles that fit the tree, and the chosen codes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.codebases.known import announced, brought, inside, names
from portkit.copying.bindings import needed, placed
from portkit.copying.dialect import is_before, spoken
from portkit.copying.foreign import with_foreign
from portkit.copying.handed_out import handed_out
from portkit.copying.kernels import formed
from portkit.copying.patches import OVERRIDE
from portkit.copying.spelling import spelt
from portkit.copying.whole_crates import whole_crates, with_counterparts
from portkit.errors import NoBackendError, ProfileError, UnsupportedVersionError
from portkit.lang.source import Source
from portkit.lang.value import Value
from portkit.profile import looked
from portkit.profile.entries import CodebaseFile, release
from portkit.profile.profile import codebase_of, load_codebase, load_vendor
from portkit.profile.settings import NAME, Skip, read, settings
from portkit.rules import added_file, idle_entry, unread_file
from portkit.scan.exceptions import with_exceptions
from portkit.scan.looked import with_looked
from portkit.scan.partial import with_errors
from portkit.scan.refused import with_refusals
from portkit.scan.scan import Scan, again, in_order, scan
from portkit.tree.finding import Applicability
from portkit.tree.workspace import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set
    from pathlib import Path

    from portkit.codebases.directory import Directory
    from portkit.profile.looked import Looked
    from portkit.profile.profile import CodebaseProfile
    from portkit.profile.settings import Settings
    from portkit.tree.workspace import Workspace

VENDOR: Final = "rocm"
"""The vendor that is written; there is one profile so far."""

DEFAULT_GATING: Final = "dummy"
"""What stands without the feature, where nobody says."""

_ANY: Final = CodebaseFile(name="", crate="", first_version="0.0.0")
"""Stands for a codebase that portkit has no profile for: it can be scanned."""


class Look(Value, frozen=True):
    """A look at a tree, after which one file can be looked at again.

    Attributes:
        whole: what the rules have found.
        said: what ``portkit.toml`` says.
        seen: what ``portkit.review.toml`` says.
        scan: what is found, by what people have decided.
    """

    whole: Scan
    said: Settings
    seen: Mapping[str, Looked]
    scan: Scan

    def again(self, path: str, data: bytes) -> Look:
        """Return the look with one file as it stands in an editor; see `portkit.scan.scan.again`.

        Args:
            path: a file that was looked at.
            data: what it holds now.
        """
        return _settled(again(self.whole, path, data), self.said, self.seen)


def scan_tree(
    directory: Path,
    *,
    gating: str = "",
    regenerate: bool = False,
    kernels: bool = False,
    profile: Directory | None = None,
    skip: Sequence[str] = (),
    config: bytes | None = None,
) -> Scan:
    """Scan the tree at ``directory`` under the profiles that fit it; see ``look``."""
    return look(
        directory,
        gating=gating,
        regenerate=regenerate,
        kernels=kernels,
        profile=profile,
        skip=skip,
        config=config,
    ).scan


def look(
    directory: Path,
    *,
    gating: str = "",
    regenerate: bool = False,
    kernels: bool = False,
    profile: Directory | None = None,
    skip: Sequence[str] = (),
    buffers: Mapping[str, bytes] = MappingProxyType({}),
    config: bytes | None = None,
) -> Look:
    """Look at the tree at ``directory`` under the profiles that fit it.

    Args:
        directory: the directory of the workspace's root manifest.
        gating: ``dummy`` or ``cfg``; empty for what ``portkit.toml`` says, else ``dummy``.
        regenerate: replace files that an earlier run has written.
        kernels: look into the sources of kernels as well, place by place.
        profile: the codebase's directory; by default the one that ``portkit.toml`` names, else the
            one whose crate is in the workspace: portkit's own first, then those of packages.
        skip: prefixes of codes that no copy has anything for, as if ``portkit.toml`` said so; their
            places are found all the same (see ``chosen``).
        config: what ``portkit.toml`` is to say; by default what it says.
        buffers: what files hold in an editor, which count before those on disk, by their paths.

    Raises:
        NotAWorkspaceError: there is no workspace.
        NoBackendError: there is no place in it where a backend decision stands.
        ProfileError: a profile is malformed.
        ConfigError: ``portkit.toml`` or ``portkit.review.toml`` is malformed.
    """
    workspace = _with(load(directory), buffers)
    said = settings(_spoken(workspace, NAME) if config is None else Source(NAME, config))
    seen = looked.entries(_spoken(workspace, looked.NAME))
    codebase = _codebase(workspace, said, profile)
    workspace = _without(workspace, _own_files(workspace, codebase))
    conditions = (*said.decisions, *codebase.conditions)
    codebase = replace(codebase, conditions=conditions, ci=said.ci)
    codebase = formed(codebase, said, workspace)
    if codebase.uses:
        from portkit.scan.below import with_ports  # few trees are built on another codebase

        codebase = with_ports(codebase, VENDOR)
    vendor = load_vendor(VENDOR, codebase)
    if whole := whole_crates(workspace, vendor, codebase):
        codebase = with_counterparts(codebase, whole)
        vendor = load_vendor(VENDOR, codebase)
    if not needed(workspace, vendor, codebase) and (below := _below(workspace)) is not None:
        codebase = replace(codebase, bindings=below.bindings)
        vendor = load_vendor(VENDOR, codebase)
    vendor = handed_out(spoken(vendor, workspace), workspace, codebase)
    vendor = with_foreign(spelt(vendor, codebase, workspace), workspace)
    vendor = replace(vendor, facade=placed(vendor.facade, said, workspace))
    found = scan(
        workspace,
        vendor,
        codebase,
        gating=gating or said.gating or DEFAULT_GATING,
        regenerate=regenerate,
        kernels=kernels,
        skips=(*said.skips, *(Skip((code,), (), "", 0) for code in skip)),
    )
    if not found.unaccounted and not any(
        f.applicability is not Applicability.KEEP
        and f.code not in (added_file.CODE, unread_file.CODE)
        for f in found.findings
    ):
        raise NoBackendError(
            f"{directory} has no place that decides for {found.job.vendor.source}, so there is"
            " nothing to port: name the root of a workspace with a CUDA backend"
        )
    return _settled(found, said, seen)


def _spoken(workspace: Workspace, name: str) -> Source | None:
    """Return a file in which people speak to portkit; None where there is none.

    Raises:
        ConfigError: what stands under its name was not read with the other files of the tree.
    """
    source = workspace.sources.get(name)
    if source is None and (data := looked.own_file(workspace.root / name)) is not None:
        return Source(name, data)  # it is not UTF-8, which is said with the name
    return source


def _settled(whole: Scan, said: Settings, seen: Mapping[str, Looked]) -> Look:
    idle = idle_entry.check(whole.job, whole.findings, said)
    found = replace(whole, findings=tuple(sorted((*whole.findings, *idle), key=in_order)))
    found = with_exceptions(found, said)
    found = with_refusals(found)
    found = with_errors(found, found)
    if any(f.code == OVERRIDE and f.applicability is Applicability.REVIEW for f in found.findings):
        from portkit.scan.upstream import with_differences

        found = with_differences(found)
    return Look(whole, said, seen, with_looked(found, seen))


def chosen(found: Scan, select: Sequence[str], skip: Sequence[str]) -> Scan:
    """Return a scan with the findings alone whose codes are wanted.

    Every rule has run all the same: what a rule accounts for stays accounted for.

    Args:
        found: the scan.
        select: prefixes of the codes that are wanted; none for all.
        skip: prefixes of the codes that are not; they count more.
    """
    kept = tuple(
        f
        for f in found.findings
        if f.code.startswith(tuple(select) or "") and not f.code.startswith(tuple(skip))
    )
    return replace(found, findings=kept)


def check_portable(found: Scan) -> None:
    """Refuse a tree that can be scanned but not ported.

    Raises:
        ProfileError: there is no profile for the codebase.
        UnsupportedVersionError: the version is older than the profile's first, or asks for what
            the port has no counterpart of.
    """
    job = found.job
    root, codebase, version = job.workspace.root, job.codebase, job.workspace.version
    if not codebase.name:
        raise ProfileError(
            f"portkit has no profile for the codebase in {root} (it knows"
            f" {', '.join(names())}), and so writes nothing there: `portkit init` makes one of what"
            f" the tree tells, or name one in {NAME} or by --profile (docs/guide-codebase.md)"
        )
    if release(version) < release(codebase.first_version):
        raise UnsupportedVersionError(
            f"{root} is {codebase.name} {version or 'without a version'}, and the port begins at"
            f" {codebase.first_version}: update the tree; `portkit scan` works on any version"
        )
    generator = job.vendor.generator
    asked = job.workspace.requirement(generator.source)
    if is_before(asked, generator.oldest):
        raise UnsupportedVersionError(
            f"{root} asks for {generator.source} {asked}, and the generator that takes its place"
            f" begins at {generator.oldest}: update the tree; `portkit scan` works on any version"
        )


def _with(workspace: Workspace, buffers: Mapping[str, bytes]) -> Workspace:
    """Return a workspace in which files that were looked at are as they stand in an editor."""
    held = {p: Source(p, data) for p, data in buffers.items() if p in workspace.sources}
    return replace(workspace, sources={**workspace.sources, **held}) if held else workspace


def _without(workspace: Workspace, paths: Set[str]) -> Workspace:
    """Return a workspace without portkit's own files, which are not part of the codebase."""
    if paths.isdisjoint(workspace.sources):
        return workspace
    kept = {path: source for path, source in workspace.sources.items() if path not in paths}
    return replace(workspace, sources=kept)


def _own_files(workspace: Workspace, codebase: CodebaseProfile) -> Set[str]:
    """Return the files of a workspace that are portkit's settings, or the profile in it."""
    own = {NAME, looked.NAME}
    if codebase.directory is not None:
        root, place = workspace.root.resolve(), codebase.directory.root.resolve()
        if place.is_relative_to(root) and place != root:
            folder = f"{place.relative_to(root).as_posix()}/"
            own |= {path for path in workspace.sources if path.startswith(folder)}
    return own


def _codebase(workspace: Workspace, said: Settings, profile: Directory | None) -> CodebaseProfile:
    if profile is None:
        profile = _named(workspace.root, said)
    if profile is not None:
        return load_codebase(profile)
    crates = {crate.name for crate in workspace.crates}
    profiles = (load_codebase(directory) for directory in _every_directory())
    return next((p for p in profiles if p.crate in crates), None) or codebase_of(_ANY)


def _below(workspace: Workspace) -> CodebaseProfile | None:
    """Return the codebase that a tree is built on: it depends on the crate that tells that one."""
    profiles = (load_codebase(directory) for directory in _every_directory())
    return next((p for p in profiles if workspace.depends_on((p.crate,), tests=False)), None)


def _every_directory() -> Iterator[Directory]:
    """Yield portkit's own first: to look for packages takes longer than to read a profile."""
    yield from brought().values()
    yield from announced().values()


def named_profile(directory: Path) -> Directory | None:
    """Return the codebase's directory that the ``portkit.toml`` of a tree names, if it does.

    Raises:
        ProfileError: there is none of that name; with the line.
        ConfigError: ``portkit.toml`` is malformed.
    """
    return _named(directory, read(directory))


def _named(root: Path, said: Settings) -> Directory | None:
    if not said.profile:
        return None
    own = brought().get(said.profile)
    if own is not None:
        return own
    try:
        return announced().get(said.profile) or inside(root, said.profile)
    except ProfileError as error:
        raise ProfileError(f"{NAME}:{said.profile_line}: {error}") from None
