"""Scan sessions: the profiles that fit a tree, the settings, and the chosen codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypedDict, Unpack

from msgspec.structs import replace

from portkit.codebases.directory import Directory
from portkit.codebases.registry import (
    find_announced,
    find_codebase_in_tree,
    find_shipped,
    list_codebases,
)
from portkit.engine.acceptance import apply_acceptances
from portkit.engine.exclusions import apply_exclusions
from portkit.engine.partial_ports import restore_required_arms
from portkit.engine.refused_findings import apply_checks
from portkit.engine.scan import Scan, rescan_file, scan_workspace, sort_key
from portkit.errors import NoBackendError, ProfileError, UnsupportedVersionError
from portkit.port.adapted_profiles import (
    adapt_to_cudarc,
    choose_kernel_form,
    find_feature_spelling,
    is_version_before,
)
from portkit.port.c_declarations import add_c_names
from portkit.port.hip_bindings import locate_bindings, requires_bindings
from portkit.port.item_patches import OVERRIDE
from portkit.port.reexported_bindings import find_reexported_bindings
from portkit.port.whole_crates import add_counterparts, find_whole_crates
from portkit.profiles import accepted_findings
from portkit.profiles.accepted_findings import Acceptance
from portkit.profiles.entries import CodebaseFile, parse_release
from portkit.profiles.profile import CodebaseProfile, decode_codebase, load_codebase, load_vendor
from portkit.profiles.settings import NAME, Exclusion, Settings, parse_settings, read_settings
from portkit.rules import file_rules, idle_entry
from portkit.syntax.source_file import SourceFile
from portkit.syntax.value import Value
from portkit.workspace.cargo_workspace import Workspace, load_workspace
from portkit.workspace.finding import Applicability

VENDOR: Final = "rocm"
"""The vendor that is written; there is one profile so far."""
DEFAULT_GATING: Final = "dummy"
"""What stands without the feature, where nobody says."""
_ANY: Final = CodebaseFile(name="", crate="", first_version="0.0.0")
"""Stands for a codebase that portkit has no profile for: it can be scanned."""


class ScanSession(Value, frozen=True):
    """A scan of a tree that can be repeated for one file."""

    whole: Scan
    said: Settings
    seen: Mapping[str, Acceptance]
    scan: Scan

    def again(self, path: str, data: bytes) -> ScanSession:
        """Return the session with one file as an editor has it."""
        return _apply_decisions(rescan_file(self.whole, path, data), self.said, self.seen)


class ScanOptions(TypedDict, total=False):
    """How a tree is scanned."""

    gating: str
    """``dummy`` or ``cfg``; empty or absent for what ``portkit.toml`` says, else ``dummy``."""
    regenerate: bool
    """Whether files that were written before are replaced where they differ."""
    kernels: bool
    """Whether the sources of kernels are looked into, place by place."""
    profile: Directory | None
    """The codebase's directory. By default it is the one that ``portkit.toml`` names, else the one
    whose crate is in the workspace: portkit's own first, then those of packages."""
    skip: Sequence[str]
    """Prefixes of codes that no copy has anything for, as if ``portkit.toml`` said so; their places
    are found all the same (see ``select_codes``)."""
    config: bytes | None
    """The content of ``portkit.toml`` in place of the tree's."""


def scan_tree(directory: Path, **options: Unpack[ScanOptions]) -> Scan:
    """Scan the tree at ``directory``; see ``open_session``."""
    return open_session(directory, **options).scan


def open_session(
    directory: Path,
    buffers: Mapping[str, bytes] = MappingProxyType({}),
    **options: Unpack[ScanOptions],
) -> ScanSession:
    """Scan the tree at ``directory`` with the profiles that fit it.

    Args:
        buffers: what files hold in an editor, which count before those on disk, by their paths.
        options: how it is scanned.

    Raises:
        NotAWorkspaceError: there is no workspace.
        NoBackendError: there is no place in it where a backend decision stands.
        ProfileError: a profile is malformed.
        ConfigError: ``portkit.toml`` or ``portkit.review.toml`` is malformed.
    """
    workspace = _replace_buffers(load_workspace(directory), buffers)
    config = options.get("config")
    said = parse_settings(
        _read_own_source(workspace, NAME) if config is None else SourceFile(NAME, config)
    )
    seen = accepted_findings.parse_acceptances(_read_own_source(workspace, accepted_findings.NAME))
    codebase = _choose_codebase(workspace, said, options.get("profile"))
    workspace = _drop_own_files(workspace, _list_own_files(workspace, codebase))
    conditions = (*said.decisions, *codebase.conditions)
    codebase = replace(codebase, conditions=conditions, ci=said.ci)
    codebase = choose_kernel_form(codebase, said, workspace)
    if codebase.uses:
        # Few trees are built on another codebase.
        from portkit.engine.dependency_ports import add_dependency_ports

        codebase = add_dependency_ports(codebase, VENDOR)
    vendor = load_vendor(VENDOR, codebase)
    if whole := find_whole_crates(workspace, vendor, codebase):
        codebase = add_counterparts(codebase, whole)
        vendor = load_vendor(VENDOR, codebase)
    if (
        not requires_bindings(workspace, vendor, codebase)
        and (below := _find_base_codebase(workspace)) is not None
    ):
        codebase = replace(codebase, bindings=below.bindings)
        vendor = load_vendor(VENDOR, codebase)
    vendor = find_reexported_bindings(adapt_to_cudarc(vendor, workspace), workspace, codebase)
    vendor = add_c_names(find_feature_spelling(vendor, codebase, workspace), workspace)
    vendor = replace(vendor, facade=locate_bindings(vendor.facade, said, workspace))
    found = scan_workspace(
        workspace,
        vendor,
        codebase,
        gating=options.get("gating") or said.gating or DEFAULT_GATING,
        regenerate=options.get("regenerate", False),
        kernels=options.get("kernels", False),
        skips=(*said.skips, *(Exclusion((code,), (), "", 0) for code in options.get("skip", ()))),
    )
    if not found.unaccounted and not any(
        f.applicability is not Applicability.KEEP
        and f.code not in (file_rules.ADDED_FILE_CODE, file_rules.UNREAD_FILE_CODE)
        for f in found.findings
    ):
        raise NoBackendError(
            f"{directory} has no place that decides for {found.job.vendor.source}, so there is"
            " nothing to port: name the root of a workspace with a CUDA backend"
        )
    return _apply_decisions(found, said, seen)


def _read_own_source(workspace: Workspace, name: str) -> SourceFile | None:
    """Return the content of a file of decisions, or None if it does not exist."""
    source = workspace.sources.get(name)
    if (
        source is None
        and (data := accepted_findings.read_own_file(workspace.root / name)) is not None
    ):
        return SourceFile(name, data)  # it is not UTF-8, which is said with the name
    return source


def _apply_decisions(whole: Scan, said: Settings, seen: Mapping[str, Acceptance]) -> ScanSession:
    idle = idle_entry.check(whole.job, whole.findings, said)
    found = replace(whole, findings=tuple(sorted((*whole.findings, *idle), key=sort_key)))
    found = apply_exclusions(found, said)
    found = apply_checks(found)
    found = restore_required_arms(found, found)  # for the arms that the user has excluded
    if any(f.code == OVERRIDE and f.applicability is Applicability.REVIEW for f in found.findings):
        from portkit.engine.override_drift import add_override_drift

        found = add_override_drift(found)
    return ScanSession(whole, said, seen, apply_acceptances(found, seen))


def select_codes(found: Scan, select: Sequence[str], skip: Sequence[str]) -> Scan:
    """Return a scan with only the findings of the chosen codes.

    Every rule has run all the same: what a rule accounts for stays accounted for.
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
            f" {', '.join(list_codebases())}), and so writes nothing there: `portkit init`"
            " makes one of what"
            f" the tree tells, or name one in {NAME} or by --profile (docs/guide-codebase.md)"
        )
    if parse_release(version) < parse_release(codebase.first_version):
        raise UnsupportedVersionError(
            f"{root} is {codebase.name} {version or 'without a version'}, and the port begins at"
            f" {codebase.first_version}: update the tree; `portkit scan` works on any version"
        )
    generator = job.vendor.generator
    asked = job.workspace.find_requirement(generator.source)
    if is_version_before(asked, generator.oldest):
        raise UnsupportedVersionError(
            f"{root} asks for {generator.source} {asked}, and the generator that takes its place"
            f" begins at {generator.oldest}: update the tree; `portkit scan` works on any version"
        )


def _replace_buffers(workspace: Workspace, buffers: Mapping[str, bytes]) -> Workspace:
    """Return a workspace with the content that an editor holds."""
    held = {p: SourceFile(p, data) for p, data in buffers.items() if p in workspace.sources}
    return replace(workspace, sources={**workspace.sources, **held}) if held else workspace


def _drop_own_files(workspace: Workspace, paths: Set[str]) -> Workspace:
    """Return a workspace without portkit's own files, which are not part of the codebase."""
    if paths.isdisjoint(workspace.sources):
        return workspace
    kept = {path: source for path, source in workspace.sources.items() if path not in paths}
    return replace(workspace, sources=kept)


def _list_own_files(workspace: Workspace, codebase: CodebaseProfile) -> Set[str]:
    """Return the files of a workspace that are portkit's settings, or the profile in it."""
    own = {NAME, accepted_findings.NAME}
    if codebase.directory is not None:
        root, place = workspace.root.resolve(), codebase.directory.root.resolve()
        if place.is_relative_to(root) and place != root:
            folder = f"{place.relative_to(root).as_posix()}/"
            own |= {path for path in workspace.sources if path.startswith(folder)}
    return own


def _choose_codebase(
    workspace: Workspace, said: Settings, profile: Directory | None
) -> CodebaseProfile:
    if profile is None:
        profile = _resolve_named_profile(workspace.root, said)
    if profile is not None:
        return load_codebase(profile)
    crates = {crate.name for crate in workspace.crates}
    profiles = (load_codebase(directory) for directory in _list_directories())
    return next((p for p in profiles if p.crate in crates), None) or decode_codebase(_ANY)


def _find_base_codebase(workspace: Workspace) -> CodebaseProfile | None:
    """Return the codebase whose crate the tree depends on."""
    profiles = (load_codebase(directory) for directory in _list_directories())
    return next((p for p in profiles if workspace.depends_on_crate((p.crate,), tests=False)), None)


def _list_directories() -> Iterator[Directory]:
    """Yield the directories of all codebases, the shipped ones first."""
    yield from find_shipped().values()
    yield from find_announced().values()


def find_named_profile(directory: Path) -> Directory | None:
    """Return the codebase's directory that the ``portkit.toml`` of a tree names, if it does."""
    return _resolve_named_profile(directory, read_settings(directory))


def _resolve_named_profile(root: Path, said: Settings) -> Directory | None:
    if not said.profile:
        return None
    own = find_shipped().get(said.profile)
    if own is not None:
        return own
    try:
        return find_announced().get(said.profile) or find_codebase_in_tree(root, said.profile)
    except ProfileError as error:
        raise ProfileError(f"{NAME}:{said.profile_line}: {error}") from None
