"""A model of how Cargo resolves the manifests of a tree, and of what it refuses.

It covers what a port can break: members and paths, dependencies and their inheritance, features in
all their forms, targets and their files. Versions of a registry are not resolved.

Sources: the Cargo Book, chapters "Workspaces", "Specifying Dependencies", "Features" and "Cargo
Targets"; Cargo, ``build_feature_map`` and ``WorkspaceRootConfig``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from portkit.syntax.features import is_feature_name
from portkit.syntax.semver import version_precedence
from portkit.syntax.value import Value

Manifest = Mapping[str, Any]

FILE: Final = "Cargo.toml"
_KINDS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_BUILT: Final = ("dependencies", "build-dependencies")
"""The tables whose crates must be built first, so that they may not form a circle."""
TARGET_KINDS: Final = {"bin": "src/bin", "example": "examples", "test": "tests", "bench": "benches"}
"""Where each kind of target is, by its key in a manifest."""
_GLOB: Final = frozenset("*?[")
_REQUIREMENT: Final = re.compile(r"\^?\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_FACTS: Final = {
    "circle": "The crate {name} would depend on itself",
    "crate": "There is no crate {name} at that path",
    "default member": "{name} is a default member and no member of the workspace",
    "dependency": "There is no dependency {name} in this manifest",
    "dependency of the workspace": "The workspace has no dependency {name}",
    "feature": "There is no feature {name} in this manifest",
    "file": "There is no file {name}",
    "key of the workspace": "The workspace has no {name} to inherit",
    "library": "Two crates would link the native library {name}",
    "manifest": "This manifest cannot be read",
    "package": "Two crates of the workspace would be called {name}",
    "switch": "The dependency {name} is not optional, so no feature can turn it on",
    "target": "Two targets would be called {name}",
    "unused dependency": "No feature turns the optional dependency {name} on",
    "version": "The crate {name} does not have the version that is required here",
    "workspace": "{name} is a workspace of its own and cannot be a member of another",
}
"""What each kind of fault is, as the first sentence about it."""


class CargoFault(Value, frozen=True, order=True):
    """What Cargo refuses in a manifest."""

    path: str
    kind: str
    name: str
    where: str

    @property
    def fact(self) -> str:
        """What is wrong, as a sentence without its full stop."""
        asked = re.fullmatch("feature of (.*)", self.kind)
        if asked:
            return f"The crate {asked[1]} has no feature {self.name}"
        return _FACTS[self.kind].format(name=self.name)


class Manifests(Value, frozen=True, dict=True):
    """The manifests of a tree."""

    # The parsed manifests by their folder, ``.`` for the root; None for one that cannot be read.
    inside: Mapping[str, Manifest | None]
    # Returns the manifest in a folder that is not in the tree, such as ``../gpu``, or None if there
    # is none that can be read.
    outside: Callable[[str], Manifest | None]
    has_file: Callable[[str], bool]

    def find(self, folder: str) -> Manifest | None:
        """Return the manifest in a folder, or None."""
        return self.outside(folder) if folder.startswith("../") else self.inside.get(folder)

    @cached_property
    def faults(self) -> frozenset[CargoFault]:
        """Everything that Cargo refuses."""
        found: set[CargoFault] = set()
        for folder, manifest in self.inside.items():
            if manifest is None:
                found.add(
                    CargoFault(
                        manifest_path(folder),
                        "manifest",
                        manifest_path(folder),
                        manifest_path(folder),
                    )
                )
                continue
            crate = _Crate(self, folder, manifest)
            found |= {
                *crate.find_dependency_faults(),
                *crate.find_feature_faults(),
                *crate.find_target_faults(),
                *crate.find_inheritance_faults(),
                *_find_workspace_faults(crate),
            }
        return frozenset({*found, *_find_circles(self)})


def manifest_path(folder: str) -> str:
    """Return the path of the manifest in a folder."""
    return FILE if folder == "." else f"{folder}/{FILE}"


def find_requestable_features(manifest: Manifest) -> set[str]:
    """Return the features that others may request of a crate, implicit ones included."""
    features = _read_table(manifest.get("features"))
    listed = {m[4:] for each in features.values() for m in each if m.startswith("dep:")}
    optional = {
        name
        for _, name, said in find_declared_dependencies(manifest)
        if said.get("optional") is True
    }
    return {*features, *(optional - listed)}


def find_declared_dependencies(
    manifest: Manifest, kinds: Sequence[str] = _KINDS
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the table, the name and the entry of each dependency, those of targets included."""
    targets = _read_table(manifest.get("target")).items()
    holders = [("", manifest), *((f"target.{name}.", each) for name, each in targets)]
    for prefix, holder in holders:
        for kind in kinds:
            for name, said in _read_table(_read_table(holder).get(kind)).items():
                yield f"{prefix}{kind}", name, said if isinstance(said, dict) else {"version": said}


class _Crate(Value, frozen=True, dict=True):
    """A manifest among the others."""

    all: Manifests
    folder: str
    manifest: Manifest

    @property
    def path(self) -> str:
        return manifest_path(self.folder)

    @cached_property
    def root(self) -> tuple[str, Manifest]:
        """The folder and the manifest of the workspace that it inherits from."""
        folder = self.folder
        said = _read_table(self.manifest.get("package")).get("workspace")
        if isinstance(said, str):
            folder = join_path(folder, said)
        while True:
            found = self.all.inside.get(folder)
            if found is not None and "workspace" in found:
                return folder, found
            if folder in (".", ""):
                return ".", {}
            folder = posixpath.dirname(folder) or "."

    @cached_property
    def shared(self) -> Mapping[str, Any]:
        """The dependencies that its workspace offers."""
        return _read_table(_read_table(self.root[1].get("workspace")).get("dependencies"))

    @cached_property
    def dependencies(self) -> list[tuple[str, str, dict[str, Any], str]]:
        """The table, the name, the whole entry and the folder of the crate of each dependency.

        The folder is empty for a crate that is not given by a path.
        """
        found = []
        for table, name, said in find_declared_dependencies(self.manifest):
            home, entry = self.folder, said
            if said.get("workspace") is True:
                taken = self.shared.get(name)
                offered = taken if isinstance(taken, dict) else {"version": taken}
                asked = [
                    *_read_strings(offered.get("features")),
                    *_read_strings(said.get("features")),
                ]
                home, entry = self.root[0], {**offered, **said, "features": asked}
            at = entry.get("path")
            found.append((table, name, entry, join_path(home, at) if isinstance(at, str) else ""))
        return found

    def find_dependency_faults(self) -> Iterator[CargoFault]:
        for _, name, said in find_declared_dependencies(self.manifest):
            if said.get("workspace") is True and name not in self.shared:
                yield self._fault("dependency of the workspace", name, manifest_path(self.root[0]))
        for _, name, entry, folder in self.dependencies:
            yield from self._find_crate_faults(name, entry, folder)
            for feature in _read_strings(entry.get("features")):
                yield from self._find_request_faults(name, feature)
        offered = _read_table(_read_table(self.manifest.get("workspace")).get("dependencies"))
        for name, entry in offered.items():
            if isinstance(entry, dict) and isinstance(entry.get("path"), str):
                yield from self._find_crate_faults(
                    name, entry, join_path(self.folder, entry["path"])
                )

    def _find_crate_faults(
        self, name: str, entry: Mapping[str, Any], folder: str
    ) -> Iterator[CargoFault]:
        if not folder:
            return
        manifest = self.all.find(folder)
        package = str(entry.get("package", name))
        if manifest is None:
            # Nobody knows the folders outside that cannot be read.
            if not folder.startswith("../"):
                yield self._fault("crate", package, folder)
            return
        if _read_table(manifest.get("package")).get("name") != package:
            yield self._fault("crate", package, folder)
        wanted = entry.get("version")
        if isinstance(wanted, str) and not self._has_version(folder, manifest, wanted):
            yield self._fault("version", package, folder)

    def _has_version(self, folder: str, manifest: Manifest, wanted: str) -> bool:
        """Whether a crate has a version; True for requirements of another form."""
        version = _read_table(manifest.get("package")).get("version")
        if _is_inherited(version):
            root = _Crate(self.all, folder, manifest).root[1]
            version = _read_table(_read_table(root.get("workspace")).get("package")).get("version")
        asked = _REQUIREMENT.fullmatch(wanted)
        if asked is None or not isinstance(version, str) or version_precedence(version) is None:
            return True
        least = [int(part) for part in asked.groups() if part is not None]
        has = [int(part) for part in re.split("[-+]", version)[0].split(".")]
        if "-" in version:
            return False
        fixed = next((i for i, part in enumerate(least) if part), len(least) - 1) + 1
        return has[:fixed] == least[:fixed] and has >= least

    def _find_request_faults(self, name: str, feature: str) -> Iterator[CargoFault]:
        """Yield a feature that is requested of a crate with a path and that it lacks."""
        for _, called, _, folder in self.dependencies:
            manifest = self.all.find(folder) if called == name and folder else None
            if manifest is not None and feature not in find_requestable_features(manifest):
                yield self._fault(f"feature of {name}", feature, manifest_path(folder))

    def find_feature_faults(self) -> Iterator[CargoFault]:
        features = _read_table(self.manifest.get("features"))
        own = find_requestable_features(self.manifest)
        optional: dict[str, bool] = {}
        for _, name, entry, _ in self.dependencies:
            optional[name] = optional.get(name, False) or entry.get("optional") is True
        used = {name for name in own - {*features} if name in optional}
        for feature, members in features.items():
            if not is_feature_name(feature):
                yield self._fault("feature", feature, self.path)
            for member in members:
                crate, slash, asked = member.removeprefix("dep:").partition("/")
                name = crate.removesuffix("?")
                if not slash and not member.startswith("dep:"):
                    if member not in own:
                        yield self._fault("feature", member, self.path)
                    continue
                used.add(name)
                if name not in optional:
                    yield self._fault("dependency", name, self.path)
                elif not optional[name] and (not slash or crate.endswith("?")):
                    yield self._fault("switch", name, self.path)
                elif slash:
                    yield from self._find_request_faults(name, asked)
        for name, can_be_off in optional.items():
            if can_be_off and name not in used:
                yield self._fault("unused dependency", name, self.path)

    def find_target_faults(self) -> Iterator[CargoFault]:
        package = _read_table(self.manifest.get("package"))
        library = _read_table(self.manifest.get("lib"))
        for said in (package.get("build"), library.get("path")):
            if isinstance(said, str):
                yield from self._find_file_faults([said], said)
        own = find_requestable_features(self.manifest)
        for kind, folder in TARGET_KINDS.items():
            seen: set[str] = set()
            for target in self.manifest.get(kind, []):
                name = str(target.get("name", ""))
                if name in seen:
                    yield self._fault("target", name, self.path)
                seen.add(name)
                places = [f"{folder}/{name}.rs", f"{folder}/{name}/main.rs"]
                places += ["src/main.rs"] if kind == "bin" else []
                said = target.get("path")
                yield from self._find_file_faults([said] if isinstance(said, str) else places, name)
                for asked in target.get("required-features", []):
                    crate, slash, feature = asked.partition("/")
                    if slash:
                        yield from self._find_request_faults(crate, feature)
                    elif asked not in own:
                        yield self._fault("feature", asked, self.path)
        roots = [join_path(self.folder, f"src/{name}.rs") for name in ("lib", "main")]
        listed = library or any(self.manifest.get(kind) for kind in ("bin",))
        if package and not listed and not any(map(self.all.has_file, roots)):
            yield self._fault("file", "src/lib.rs", join_path(self.folder, "src/lib.rs"))

    def _find_file_faults(self, places: Sequence[str], name: str) -> Iterator[CargoFault]:
        inside = [join_path(self.folder, place) for place in places]
        if not any(place.startswith("../") or self.all.has_file(place) for place in inside):
            yield self._fault("file", name, inside[0])

    def find_inheritance_faults(self) -> Iterator[CargoFault]:
        workspace = _read_table(self.root[1].get("workspace"))
        offered = _read_table(workspace.get("package"))
        for key, said in _read_table(self.manifest.get("package")).items():
            if _is_inherited(said) and key not in offered:
                yield self._fault("key of the workspace", key, manifest_path(self.root[0]))
        if _is_inherited(self.manifest.get("lints")) and "lints" not in workspace:
            yield self._fault("key of the workspace", "lints", manifest_path(self.root[0]))

    def _fault(self, kind: str, name: str, where: str) -> CargoFault:
        return CargoFault(self.path, kind, name, where)


def _find_workspace_faults(root: _Crate) -> Iterator[CargoFault]:
    """Yield the faults of the members of a workspace."""
    workspace = root.manifest.get("workspace")
    if not isinstance(workspace, dict):
        return
    listed = [*_expand(root, workspace.get("members"))]
    for folder in listed:
        if not folder.startswith("../") and folder not in root.all.inside:
            yield CargoFault(root.path, "crate", folder, folder)
    excluded = [join_path(root.folder, each) for each in _read_strings(workspace.get("exclude"))]
    members = _find_members(root, listed, excluded)
    names: dict[str, str] = {}
    libraries: dict[str, str] = {}
    for folder, manifest in members.items():
        if folder != root.folder and "workspace" in manifest:
            yield CargoFault(root.path, "workspace", folder, manifest_path(folder))
        package = _read_table(manifest.get("package"))
        for said, known, kind in (
            (package.get("name"), names, "package"),
            (package.get("links"), libraries, "library"),
        ):
            if isinstance(said, str) and known.setdefault(said, folder) != folder:
                yield CargoFault(root.path, kind, said, manifest_path(folder))
    for folder in _expand(root, workspace.get("default-members")):
        if folder not in members and not folder.startswith("../"):
            yield CargoFault(root.path, "default member", folder, folder)


def _find_members(
    root: _Crate, listed: Sequence[str], excluded: Sequence[str]
) -> dict[str, Manifest]:
    """Return the manifests of a workspace by folder: those listed, and their paths inside it."""
    found: dict[str, Manifest] = {}
    pending = [root.folder, *listed]
    for folder in pending:
        manifest = root.all.inside.get(folder)
        if folder in found or manifest is None:
            continue
        found[folder] = manifest
        for _, _, _, path in _Crate(root.all, folder, manifest).dependencies:
            inside = root.folder == "." or path.startswith(f"{root.folder}/")
            if not path or path.startswith("../") or not inside:
                continue
            if any(path == each or path.startswith(f"{each}/") for each in excluded):
                continue
            pending.append(path)
    return found


def _expand(root: _Crate, listed: object) -> Iterator[str]:
    """Yield the folders that a list of members names; of a pattern those with a manifest."""
    for member in _read_strings(listed):
        if not _GLOB & {*member}:
            yield join_path(root.folder, member)
            continue
        pattern = re.compile(_translate(join_path(root.folder, member)))
        yield from sorted(folder for folder in root.all.inside if pattern.fullmatch(folder))


def _translate(pattern: str) -> str:
    """Return a pattern of paths as a regular expression; ``*`` does not match a slash."""
    parts = re.split(r"(\*\*/?|\*|\?|\[[^]]*\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        known.get(part, part.replace("[!", "[^") if part.startswith("[") else re.escape(part))
        for part in parts
    )


def _find_circles(manifests: Manifests) -> Iterator[CargoFault]:
    """Yield the crates that must be built before themselves."""
    needs = {
        folder: {
            path
            for table, _, _, path in _Crate(manifests, folder, manifest).dependencies
            if table.rpartition(".")[2] in _BUILT and path in manifests.inside
        }
        for folder, manifest in manifests.inside.items()
        if manifest is not None
    }
    for folder in needs:
        seen: set[str] = set()
        pending = [*needs[folder]]
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending += needs.get(each, ())
        if folder in seen:
            manifest = manifests.inside[folder] or {}
            name = str(_read_table(manifest.get("package")).get("name", folder))
            yield CargoFault(manifest_path(folder), "circle", name, manifest_path(folder))


def join_path(folder: str, path: str) -> str:
    """Return a path that is given from a folder, from the root of the tree."""
    return posixpath.normpath(posixpath.join(folder, path))


def _is_inherited(said: object) -> bool:
    return isinstance(said, dict) and said.get("workspace") is True


def _read_strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _read_table(value: object) -> Manifest:
    return value if isinstance(value, dict) else {}
