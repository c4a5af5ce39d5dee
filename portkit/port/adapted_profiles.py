"""Profiles as a tree needs them: cudarc's version, the feature's spelling, the kernels' form."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from portkit.errors import ConfigError
from portkit.hipify.paths import BUILD_SCRIPT, PATCH_FILE
from portkit.profiles.profile import CodebaseProfile, VendorProfile
from portkit.profiles.settings import BINDINGS as SOURCE
from portkit.profiles.settings import NAME, Settings
from portkit.syntax.features import is_feature_spelling
from portkit.workspace.cargo_workspace import Workspace
from portkit.workspace.manifest import parse_manifest

_REQUIREMENT = re.compile(r"[\^~=\s]*(\d+(?:\.\d+)*)")
_DEFINITION = r"\b(?:struct|enum|union|type|trait|as)\s+%s\b"


def adapt_to_cudarc(vendor: VendorProfile, workspace: Workspace) -> VendorProfile:
    """Return a vendor that also renames what is cudarc's in a codebase, and what its own elsewhere.

    Before 0.14 cudarc had a ``CudaDevice``. In a codebase that asks for such a version and has no
    ``CudaDevice``, the name is cudarc's; in one that defines its own, it is where a path begins at
    cudarc. One that asks for no other gets the module of the bindings that has the whole of that
    shape. What the profile says of a name counts more.
    """
    asked = [
        parse_version(version) for version in _find_required_versions(workspace, vendor.bindings)
    ]
    older = {
        name: new
        for version, names in vendor.older.items()
        if any(each < parse_version(version) for each in asked)
        for name, new in names.items()
    }
    own = {name for name in older if _defines_item(workspace, name)}
    alone = {name: new for name, new in older.items() if name not in own}
    below = {vendor.bindings: {name: older[name] for name in sorted(own)}} if own else {}
    words, facade = {**alone, **vendor.names.words}, vendor.facade
    for version, module in facade.older.items():
        only = bool(asked) and all(each < parse_version(version) for each in asked)
        if only and words.get(vendor.bindings) == facade.module:
            words[vendor.bindings] = f"{facade.module}::{module}"
            facade = replace(facade, shape=module)
    used = set(_find_requested_features(workspace, vendor.bindings)) - vendor.unported.keys()
    unused = tuple(sorted(new for old, new in vendor.libraries.items() if old not in used))
    facade = replace(facade, unused=unused)
    return replace(vendor, names=replace(vendor.names, words=words, below=below), facade=facade)


def is_version_before(requirement: str, version: str) -> bool:
    """Whether a manifest asks for a version of a crate before another, such as 0.0.2 before 0.1."""
    asked = _REQUIREMENT.match(requirement)
    return asked is not None and parse_version(asked[1]) < parse_version(version)


def _find_required_versions(workspace: Workspace, crate: str) -> Iterator[str]:
    """Yield the version that each manifest asks for of a crate, also under another name."""
    for manifest in _list_manifests(workspace):
        for entry in list_dependency_entries(manifest, crate).values():
            asked = _REQUIREMENT.match(str(entry.get("version", "")))
            if asked is not None:
                yield asked[1]


def _find_requested_features(workspace: Workspace, crate: str) -> Iterator[str]:
    """Yield the features of a crate that a manifest asks for.

    Source: the Cargo book, chapter "Features", section "Dependency features".
    """
    for manifest in _list_manifests(workspace):
        own = list_dependency_entries(manifest, crate)
        for entry in own.values():
            yield from map(str, _list(entry.get("features")))
        for members in _read_table(manifest.get("features")).values():
            for member in _list(members):
                name, _, feature = str(member).partition("/")
                if feature and name.rstrip("?") in own:
                    yield feature


def _list_manifests(workspace: Workspace) -> Iterator[Mapping[str, Any]]:
    yield _read_table(workspace.manifest.get("workspace"))
    for crate in workspace.crates:
        yield crate.manifest


def list_dependency_entries(
    manifest: Mapping[str, Any], crate: str
) -> dict[str, Mapping[str, Any]]:
    """Return what a manifest says of a crate among its dependencies, by what it calls it."""
    found = {}
    for table in (manifest, *map(_read_table, _read_table(manifest.get("target")).values())):
        for name, said in _read_table(table.get("dependencies")).items():
            entry = {"version": said} if isinstance(said, str) else _read_table(said)
            if entry.get("package", name) == crate:
                found[name] = entry
    return found


def _read_table(said: object) -> Mapping[str, Any]:
    """Return what a manifest has where a table belongs; nothing for anything else."""
    return said if isinstance(said, dict) else {}


def _list(said: object) -> Sequence[object]:
    """Return what a manifest has where a list belongs; nothing for anything else."""
    return said if isinstance(said, list) else ()


def parse_version(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, which may be short, such as 0.14."""
    return tuple(map(int, version.split(".")))


def _defines_item(workspace: Workspace, name: str) -> bool:
    """Whether a Rust file of the tree defines an item of this name."""
    wanted, definition = name.encode(), re.compile((_DEFINITION % name).encode())
    return any(
        wanted in source.data and definition.search(source.data)
        for path, source in workspace.sources.items()
        if path.endswith(".rs")
    )


def find_feature_spelling(
    vendor: VendorProfile, codebase: CodebaseProfile, workspace: Workspace
) -> VendorProfile:
    """Return a vendor whose feature is the one that a backend stands under in a tree.

    ``cuda = ["_cuda"]`` beside ``_cuda = ["dep:cudarc"]`` leaves a choice to what turns ``_cuda``
    on, such as how CUDA is linked. What is written has one feature for both.
    """
    name = vendor.source_feature
    crates = [crate.features for crate in workspace.crates]
    hidden = sorted(
        {f for features in crates for f in features if f != name and is_feature_spelling(f, name)}
    )
    if codebase.source_feature or len(hidden) != 1:
        return vendor
    [own] = hidden
    names = replace(vendor.names, feature=(own, vendor.feature))
    return replace(vendor, source_feature=own, spellings=(name,), names=names)


def choose_kernel_form(
    codebase: CodebaseProfile, said: Settings, workspace: Workspace
) -> CodebaseProfile:
    """Return a codebase whose kernels have the form that they have in the tree, or are to have.

    Raises:
        ConfigError: the tree has a crate of the other form than ``portkit.toml`` says.
    """
    kernels = codebase.kernels
    if kernels is None:
        return codebase
    form = said.kernels or kernels.form
    support = dict(said.build)
    if f"{kernels.name}/Cargo.toml" in workspace.sources:
        patched = workspace.root / kernels.name / "src" / PATCH_FILE
        standing = "shared" if patched.is_file() else "translated"
        if said.kernels not in ("", standing):
            raise ConfigError(
                f"{NAME}:{said.kernels_line}: the kernels are {said.kernels}, and those in"
                f" {kernels.name} are {standing}: remove that crate, or take out what is said of"
                " kernels"
            )
        form = standing
        support = _find_compiler_source(workspace, kernels.name, said)
    if said.build and form != "shared":
        raise ConfigError(
            f"{NAME}:{said.build_line}: what compiles kernels is taken from elsewhere, and"
            ' translations bring their own: write kernels = "shared", or take out what is said of'
            " build"
        )
    return replace(codebase, kernels=replace(kernels, form=form), support=support)


def _find_compiler_source(workspace: Workspace, name: str, said: Settings) -> dict[str, str]:
    """Return where a crate of kernels takes what compiles it from; nothing where it has a copy.

    Raises:
        ConfigError: ``portkit.toml`` says something else.
    """
    place = f"{name}/Cargo.toml"
    manifest = parse_manifest(workspace.sources[place].data)
    standing = manifest.get("build-dependencies", {}).get(BUILD_SCRIPT, {})
    found = {key: standing[key] for key in SOURCE if key in standing}
    if "path" in found:
        found["path"] = posixpath.relpath(posixpath.join(name, found["path"]), ".")
    if said.build and said.build != found:
        raise ConfigError(
            f"{NAME}:{said.build_line}: what compiles kernels is taken from elsewhere, and"
            f" {place} {'names another place' if found else 'has a copy of it'}: remove that crate,"
            " or take out what is said of build"
        )
    return found
