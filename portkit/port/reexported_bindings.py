"""The bindings that a codebase below the tree hands out, such as ``toy_core::cuda_backend``'s.

What a path finds behind a crate of that codebase is what its own port has there, whatever the tree
takes itself: of ``toy_core::cuda_backend::cudarc`` it makes
``toy_core::rocm_backend::toy_hip``. Which cudarc that is, and so whether the bindings have
its shape in a module of theirs (docs/bindings.md, "Which cudarc"), the tree's ``Cargo.lock`` says,
a manifest beside the tree, or the version of the codebase that the tree asks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.port.adapted_profiles import list_dependency_entries, parse_version
from portkit.profiles.entries import parse_release
from portkit.profiles.profile import CodebaseProfile, PortedDependency, VendorProfile
from portkit.syntax.imports import find_import_paths
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import SourceFile
from portkit.workspace import lock_file
from portkit.workspace.cargo_workspace import Workspace, find_workspace_root
from portkit.workspace.manifest import parse_manifest

_REQUIREMENT: Final = re.compile(r"([\^~=]?)\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+][\w.+-]+)?")
"""A requirement of one part (the Cargo book, "Specifying Dependencies")."""
_USE: Final = re.compile(r"\buse\s+([^;]*);")


def find_reexported_bindings(
    vendor: VendorProfile, workspace: Workspace, codebase: CodebaseProfile
) -> VendorProfile:
    """Return a vendor that knows what the bindings are called behind crates of codebases below."""
    for module in dict.fromkeys(each.module for each in codebase.ported.values() if each.bindings):
        below = {c: each for c, each in codebase.ported.items() if each.module == module}
        vendor = _add_bindings(vendor, workspace, codebase, module, below)
    return vendor


def _add_bindings(
    vendor: VendorProfile,
    workspace: Workspace,
    codebase: CodebaseProfile,
    module: str,
    below: Mapping[str, PortedDependency],
) -> VendorProfile:
    """Return a vendor that knows the bindings of one codebase below, by its crates."""
    bindings, facade, names = vendor.bindings, vendor.facade, vendor.names
    shapes = {_find_shape(vendor, each) for each in _list_versions(vendor, workspace, below)}
    settled = len(shapes) == 1
    asked = facade.shape if facade.module == module else ""
    shape = shapes.pop() if settled else asked
    word = f"{module}::{shape}" if shape else module
    words = dict(names.words)
    if facade.module == module and bindings in codebase.words:
        settled, word = True, codebase.words[bindings]
    elif facade.module == module:
        words[bindings], facade = word, replace(facade, shape=shape)
    older = {
        name: new
        for each in vendor.older.values()
        for name, new in each.items()
        if name not in codebase.words
    }
    others = replace(names, words={w: new for w, new in words.items() if w not in older})
    behind = {bindings: word, **{name: others.word(name) for name in older}}
    names = replace(
        names,
        words=words,
        below={**names.below, bindings: {**older, **names.below.get(bindings, {})}},
        behind={**names.behind, **dict.fromkeys(_find_crate_names(workspace, below), behind)},
    )
    unsettled = {} if settled else {module: _explain_bindings(vendor, module, below)}
    return replace(vendor, names=names, facade=facade, unsettled={**vendor.unsettled, **unsettled})


def _explain_bindings(
    vendor: VendorProfile, module: str, below: Mapping[str, PortedDependency]
) -> str:
    [codebase] = {each.codebase for each in below.values()}
    older = " and ".join(
        f"what {vendor.bindings} had before {version} is in {module}::{name}"
        for version, name in vendor.facade.older.items()
    )
    return (
        f"{older}, and no Cargo.lock tells which {vendor.bindings} {codebase} asks for: see which"
        " it is"
    )


def explain_binding_review(job: PortJob, text: str) -> str:
    """Return why a person should look at the copy of a text, or nothing.

    It names bindings whose shape nothing tells.
    """
    if not job.vendor.unsettled or job.vendor.bindings not in text:
        return ""
    copy = job.rename(strip_comments_and_strings(text))
    unsettled = job.vendor.unsettled.items()
    return next((why for module, why in unsettled if re.search(rf"\b{module}\b", copy)), "")


def adapt_to_file(job: PortJob, source: SourceFile) -> PortJob:
    """Return a job whose names are those of a file, by what its imports bring in.

    ``use toy_core::cuda_backend;`` has a path begin at that codebase's module, and
    ``use toy_core::cuda_backend::cudarc;`` at its bindings.
    """
    names, bindings = job.vendor.names, job.vendor.bindings
    older = names.below.get(bindings, {})
    told = {bindings, *older}
    if not names.behind or not source.path.endswith(".rs"):
        return job  # as of most trees
    if not any(name.encode() in source.data for name in told):
        return job
    brought = [*_find_imports(source)]
    behind = _find_path_heads(names.behind, brought, bindings)
    words = {}
    for path, name in brought:
        first, *inner = path.split("::")
        if name in told and first in behind and inner[-1:] == [name]:
            words[name] = older[name] if bindings in inner[:-1] else behind[first][name]
    words.update(_find_bindings_elsewhere(job, source, brought))
    if behind == names.behind and not words:
        return job
    names = replace(names, behind=behind, words={**names.words, **words})
    return replace(job, vendor=replace(job.vendor, names=names))


def _find_path_heads(
    behind: Mapping[str, Mapping[str, str]], brought: Sequence[tuple[str, str]], bindings: str
) -> Mapping[str, Mapping[str, str]]:
    """Return what names become by what a path begins at in a file, by what that brings in."""
    found, known = dict(behind), 0
    while len(found) != known:
        known = len(found)
        for path, name in brought:
            first, *inner = path.split("::")
            if first in found and bindings not in inner:
                found.setdefault(name, found[first])
    return found


def _find_bindings_elsewhere(
    job: PortJob, source: SourceFile, brought: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield what the bindings are in a file of a crate that does not depend on them.

    It has them by a glob, or through a module of its own that has them from below.
    """
    bindings = job.vendor.bindings
    crate = job.workspace.crate_of(source.path)
    if crate is None or list_dependency_entries(crate.manifest, bindings):
        return
    handed = {each[bindings] for each in job.vendor.names.behind.values()}
    if len(handed) == 1 and all(name != bindings for _, name in brought):
        yield bindings, handed.pop()


def _find_imports(source: SourceFile) -> Iterator[tuple[str, str]]:
    """Yield the path of each thing that a file's imports bring in, and its name there."""
    for match in _USE.finditer(strip_comments_and_strings(source.text(0, len(source.data)))):
        for use in SourceFile("use.rs", f"use {match[1]};".encode()).tree.root_node.children:
            for path in find_import_paths(use) if use.type == "use_declaration" else ():
                whole, _, alias = " ".join(path.split()).partition(" as ")
                whole = whole.replace(" ", "").removeprefix("::").removesuffix("::self")
                yield whole, alias.strip() or whole.rpartition("::")[2]


def _find_crate_names(workspace: Workspace, below: Container[str]) -> Iterator[str]:
    """Yield what Rust code calls some crates, wherever a manifest names them."""
    for _, name, package, _ in workspace.asked():
        if package in below:
            yield name.replace("-", "_")


def _find_shape(vendor: VendorProfile, version: str) -> str:
    """Return the module that has the shape of a version of the source's bindings, or nothing."""
    older = sorted(vendor.facade.older.items(), key=lambda each: parse_version(each[0]))
    return next(
        (new for before, new in older if parse_version(version) < parse_version(before)), ""
    )


def _list_versions(
    vendor: VendorProfile, workspace: Workspace, below: Mapping[str, PortedDependency]
) -> frozenset[str]:
    """Return the versions of the source's bindings that a codebase below may ask for.

    Where anything leaves it open, such as a fork of it in git without a lock file, there are none.
    """
    found: set[str] = set()
    for crate in below:
        found |= lock_file.find_needed_versions(workspace.root, crate, vendor.bindings)
    if found:
        return frozenset(found)
    for directory, _, package, said in workspace.asked():
        if package in below:
            place = workspace.root / directory
            asked = _find_required_versions(
                place, workspace, package, said, below[package], vendor.bindings
            )
            if asked is None:
                return frozenset()
            found.update(asked)
    return frozenset(found)


def _find_required_versions(
    place: Path,
    workspace: Workspace,
    package: str,
    said: Mapping[str, Any],
    known: PortedDependency,
    bindings: str,
) -> Collection[str] | None:
    """Return the versions of the bindings that a dependency may require; None if unknown."""
    for table in workspace.manifest.get("patch", {}).values():
        if isinstance(table, dict) and isinstance(table.get(package), dict):
            said, place = table[package], workspace.root
    if isinstance(said.get("path"), str):
        return _read_required_version(place / said["path"], bindings)
    version = said.get("version")
    if "git" in said or not isinstance(version, str):
        return None
    return _find_versions_in_range(version, known.source_bindings)


def _read_required_version(folder: Path, bindings: str) -> Collection[str] | None:
    """Return the version of the bindings that a crate beside the tree asks for, if it does."""
    try:
        found = list_dependency_entries(
            parse_manifest((folder / "Cargo.toml").read_bytes()), bindings
        )
        if any(each.get("workspace") is True for each in found.values()):
            root = find_workspace_root(folder)
            shared = parse_manifest(((root or folder) / "Cargo.toml").read_bytes())
            found = list_dependency_entries(shared.get("workspace", {}), bindings)
    except (OSError, ValueError):
        return None
    asked = [
        _REQUIREMENT.fullmatch(str(each.get("version", "")).strip()) for each in found.values()
    ]
    return {".".join(filter(None, each.groups()[1:])) for each in asked if each} or (
        None if asked else ()
    )


def _find_versions_in_range(requirement: str, known: Mapping[str, str]) -> Collection[str] | None:
    """Return what the versions of a crate that meet a requirement ask for; None for any other.

    Source: the Cargo book, "Specifying Dependencies", on caret, tilde and ``=``.
    """
    asked = _REQUIREMENT.fullmatch(requirement.strip())
    if asked is None:
        return None
    given = [int(each) for each in asked.groups()[1:] if each is not None]
    last = len(given) - 1
    moves = {"=": last, "~": min(1, last)}.get(
        asked[1], next((at for at, each in enumerate(given) if each), last)
    )
    low = (*given, 0, 0)[:3]
    high = (*given[:moves], given[moves] + 1, 0, 0)[:3]
    before = [version for version in known if parse_release(version) <= low]
    if not before:
        return None
    within = [version for version in known if low < parse_release(version) < high]
    return {known[version] for version in (max(before, key=parse_release), *within)}
