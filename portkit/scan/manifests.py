"""Manifests of a port in part: cargo loads no tree of which one names what is not there.

What is looked at is what would be written, whatever has left the rest out. What a manifest names
before and does not find is the tree's own. Source: the Cargo Book, chapters "Workspaces",
"Specifying Dependencies" and "Features".
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import PlanError
from portkit.lang.value import Value
from portkit.scan.partial import listed, place
from portkit.tree.finding import Status
from portkit.tree.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding
    from portkit.tree.workspace import Workspace
    from portkit.write.change import Change

Manifest = dict[str, Any]

_FILE: Final = "Cargo.toml"
_KINDS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_PATTERN: Final = frozenset("*?[")


class Absent(Value, frozen=True, order=True):
    """What a manifest would name and not find.

    Attributes:
        path: the manifest.
        kind: what it is.
        name: its name.
        where: the folder, or the manifest, in which it would be.
    """

    path: str
    kind: str
    name: str
    where: str


def check_manifests(whole: Scan, chosen: Scan, changes: Sequence[Change]) -> None:
    """Refuse to write a manifest that names what is left out.

    Args:
        whole: the scan of the tree, what people except told apart.
        chosen: the same with the places alone that are to be written.
        changes: what they come to.

    Raises:
        PlanError: there is one; with the places.
    """
    if found := left_out(whole, chosen, changes):
        named = ", ".join(f"the {each.kind} {each.name}" for each in found)
        raise PlanError(
            f"{named} would be named and not be there, so that cargo would load no manifest of the"
            f" tree: write {'them' if len(found) > 1 else 'it'} too, or leave out"
            f" {listed(chosen, naming(chosen, found))}"
        )


def left_out(whole: Scan, chosen: Scan, changes: Iterable[Change]) -> list[Absent]:
    """Return what manifests would name anew and is left out, each once; the arguments as above.

    What would not be there after the whole port either is no concern of who chooses.
    """
    written = {place(f) for f in chosen.findings if f.status is Status.TODO and not f.excepted}
    left = {
        name
        for f in whole.findings
        if f.excepted or (f.status is Status.TODO and place(f) not in written)
        for name in (f.path, f.symbol)
    }
    if not left:
        return []
    return [
        each
        for each in absent(whole.job.workspace, changes)
        if any(name == each.where or name.startswith(f"{each.where}/") for name in left)
    ]


def absent(workspace: Workspace, changes: Iterable[Change]) -> list[Absent]:
    """Return what the manifests among some changes would name anew and not find, each once."""
    sources = workspace.sources
    manifests = [change for change in changes if posixpath.basename(change.path) == _FILE]
    before = {path: source.data for path, source in sources.items() if path.endswith(_FILE)}
    after = before | {change.path: change.after for change in manifests}
    then, now = _parsed(before), _parsed(after)
    return sorted(
        {each for change in manifests for each in _absent(change.path, now)}
        - {each for change in manifests for each in _absent(change.path, then)}
    )


def naming(chosen: Scan, found: Iterable[Absent]) -> list[Finding]:
    """Return what is chosen to be written and names what would not be there."""
    out: dict[int, Finding] = {}
    for each in found:
        here = [f for f in chosen.findings if f.path == each.path and f.status is Status.TODO]
        words = re.compile(rf"(?<![\w-]){re.escape(each.name.rpartition('/')[2])}(?![\w-])")
        named = [f for f in here if any(words.search(edit.text) for edit in f.edits)]
        out |= {id(f): f for f in named or here}
    return list(out.values())


def _parsed(texts: Mapping[str, bytes]) -> dict[str, Manifest]:
    """Return the manifests that can be read, each by its folder."""
    found = {}
    for path, data in texts.items():
        try:
            found[posixpath.dirname(path) or "."] = parse_manifest(data)
        except ValueError:  # PK901 or PK902 says so
            continue
    return found


def _absent(path: str, manifests: Mapping[str, Manifest]) -> Iterator[Absent]:
    folder = posixpath.dirname(path) or "."
    manifest = manifests.get(folder, {})
    workspace = manifest.get("workspace", {})
    for key in ("members", "default-members"):
        listed = workspace.get(key, [])
        for member in listed if isinstance(listed, list) else ():
            if isinstance(member, str) and not _PATTERN & {*member}:
                yield from _crate(path, _joined(folder, member), manifests)
    dependencies = [*_dependencies(manifest)]
    for name, entry in [*dependencies, *_entries(workspace.get("dependencies"))]:
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            yield from _crate(path, _joined(folder, entry["path"]), manifests)
        if _is_shared(entry) and name not in _shared(manifest, manifests):
            yield Absent(path, "dependency of the workspace", name, _root_of(path, manifest))
    names = {name for name, _ in dependencies}
    for name, entry in dependencies:
        for feature in entry.get("features", []) if isinstance(entry, dict) else []:
            yield from _feature_of(path, name, feature, manifest, manifests)
    for members in manifest.get("features", {}).values():
        for member in members:
            crate, slash, feature = member.removeprefix("dep:").partition("/")
            crate = crate.removesuffix("?")
            if slash or member.startswith("dep:"):
                if crate not in names:
                    yield Absent(path, "dependency", crate, path)
            elif crate not in names and crate not in manifest["features"]:
                yield Absent(path, "feature", crate, path)
            if slash:
                yield from _feature_of(path, crate, feature, manifest, manifests)


def _crate(path: str, folder: str, manifests: Mapping[str, Manifest]) -> Iterator[Absent]:
    # What lies outside the tree is nobody's here.
    if not folder.startswith("../") and folder not in manifests:
        yield Absent(path, "crate", folder, folder)


def _feature_of(
    path: str, name: str, feature: str, manifest: Manifest, manifests: Mapping[str, Manifest]
) -> Iterator[Absent]:
    """Yield a feature that is asked of a crate of the tree and that the crate has not."""
    for called, entry in _dependencies(manifest):
        if called != name or not isinstance(entry, dict):
            continue
        folder = posixpath.dirname(path) or "."
        if _is_shared(entry):
            folder, entry = ".", _shared(manifest, manifests).get(name)
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            continue
        home = _joined(folder, entry["path"])
        crate = manifests.get(home)
        if crate is not None and feature != "default":
            known = {*crate.get("features", {}), *(each for each, _ in _dependencies(crate))}
            if feature not in known:
                yield Absent(
                    path, f"feature of {name}", feature, f"{home}/{_FILE}".removeprefix("./")
                )


def _dependencies(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    targets = manifest.get("target", {}).values()
    for holder in (manifest, *(each for each in targets if isinstance(each, dict))):
        for kind in _KINDS:
            yield from _entries(holder.get(kind))


def _entries(table: object) -> Iterator[tuple[str, Any]]:
    yield from table.items() if isinstance(table, dict) else ()


def _is_shared(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("workspace") is True


def _shared(manifest: Manifest, manifests: Mapping[str, Manifest]) -> Mapping[str, Any]:
    """Return the dependencies that a crate's workspace offers."""
    root = manifest if "workspace" in manifest else manifests.get(".", {})
    offered = root.get("workspace", {}).get("dependencies", {})
    return offered if isinstance(offered, dict) else {}


def _root_of(path: str, manifest: Manifest) -> str:
    """Return the manifest that offers a crate the dependencies of its workspace."""
    return path if "workspace" in manifest else _FILE


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))
