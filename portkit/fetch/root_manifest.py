"""The root manifest of a workspace, recovered from the crates that were published from it.

A member writes ``rand = { workspace = true }``, and cargo publishes a normalized manifest in
which the workspace's own entry stands instead. So each inherited key tells what the root said:

- a key of ``[package]`` and the table ``[lints]`` are published as the root has them;
- a dependency is published with the root's requirement, with the root's features followed by the
  member's, and with the root's ``default-features``, unless the member turns them on
  (``inner_dependency_inherit_with`` in cargo's src/cargo/util/toml/mod.rs);
- a dependency on a crate of the same repository has a path in the root, which is not published:
  it is the folder of that crate.

A crate that inherits is a member. One that does not, in a repository whose other crates do,
stands outside the workspace and is listed under ``exclude``: a path dependency of a member would
otherwise make it a member (The Cargo Book, "Workspaces").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.fetch.crate import Crate

    Table = Mapping[str, Any]

_DEPENDENCY_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")

# A normalized manifest names the resolver only where it is not the one that the edition implies
# (The Cargo Book, "Dependency Resolution", "Resolver versions").
_RESOLVERS: Final = {"2015": "1", "2018": "1", "2021": "2", "2024": "3"}


def build_root_manifest(crates: Sequence[Crate], extra: str) -> str:
    """Return the text of the root manifest.

    ``extra``: TOML tables of the root that the crates do not tell; the text ends with them.
    """
    members = [crate for crate in crates if _is_member(crate)]
    folders = {crate.name: f"./{crate.folder}" for crate in crates}
    workspace = _AgreedTable("workspace")
    package = _AgreedTable("workspace.package")
    lints = _AgreedTable("workspace.lints")
    dependencies = _AgreedTable("workspace.dependencies")
    for crate in members:
        published = crate.normalized["package"]
        implied = _RESOLVERS.get(published.get("edition", "2015"), "3")
        workspace.add("resolver", published.get("resolver", implied), crate)
        for key, value in crate.original["package"].items():
            if _is_inherited(value):
                package.add(key, published[key], crate)
        if _is_inherited(crate.original.get("lints")):
            for tool, levels in crate.normalized["lints"].items():
                lints.add(tool, levels, crate)
        for name, asked, given in _find_inherited(crate):
            dependencies.add(name, _build_root_entry(crate, name, asked, given, folders), crate)
    lines = [
        "[workspace]",
        *_render_array("members", [str(crate.folder) for crate in members]),
        *_render_array("exclude", [str(crate.folder) for crate in crates if not _is_member(crate)]),
        *_render_entries(workspace.values),
    ]
    for table in (package, lints, dependencies):
        if table.values:
            lines += ["", f"[{table.name}]", *_render_entries(table.values)]
    return "\n".join([*lines, "", extra.strip()]).strip() + "\n"


class _AgreedTable:
    """A table of the root manifest, as several members report it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[str, Any] = {}
        self._reporters: dict[str, Crate] = {}

    def add(self, key: str, value: object, crate: Crate) -> None:
        """Note what a member reports for a key."""
        reporter = self._reporters.setdefault(key, crate)
        if self.values.setdefault(key, value) != value:
            raise FetchError(
                f"{reporter.name} and {crate.name} do not agree on `{key}` of [{self.name}],"
                f" {_render_value(self.values[key])} or {_render_value(value)}, so they were"
                " not published from"
                " one workspace: fetch another version"
            )


def _is_member(crate: Crate) -> bool:
    """Whether a crate inherits anything from a workspace."""
    tables = [*crate.original["package"].values(), crate.original.get("lints")]
    return any(map(_is_inherited, tables)) or any(True for _ in _find_inherited(crate))


def _find_inherited(crate: Crate) -> Iterator[tuple[str, Table, Table | None]]:
    """Yield the dependencies that a member inherits: name, entry as written, as published."""
    places = [(crate.original, crate.normalized)]
    published_targets = crate.normalized.get("target", {})
    for target, tables in crate.original.get("target", {}).items():
        places.append((tables, published_targets.get(target, {})))
    for original, normalized in places:
        for table in _DEPENDENCY_TABLES:
            for name, entry in original.get(table, {}).items():
                if _is_inherited(entry):
                    yield name, entry, normalized.get(table, {}).get(name)


def _build_root_entry(
    crate: Crate, name: str, asked: Table, given: Table | None, folders: Mapping[str, str]
) -> dict[str, Any]:
    """Return the root's entry for a dependency that a member asked for and was given.

    ``asked``: the member's own entry.
    ``given``: the published entry; cargo publishes no development dependency without a version.
    """
    package = given.get("package", name) if given else name
    if given is None and package not in folders:
        raise FetchError(
            f"{crate.name} inherits the dependency {name}, but is published without it, so that"
            " the workspace cannot be rebuilt: fetch another version"
        )
    entry: dict[str, Any] = {"path": folders[package]} if package in folders else {}
    entry |= {key: value for key, value in (given or {}).items() if key != "optional"}
    features = entry.pop("features", [])
    features = features[: len(features) - len(asked.get("features", []))]
    return entry | ({"features": features} if features else {})


def _is_inherited(value: object) -> bool:
    return isinstance(value, dict) and value.get("workspace") is True


def _render_array(key: str, values: Sequence[str]) -> list[str]:
    """Return the lines of an array, one value a line."""
    return [f"{key} = [", *(f"    {_render_value(value)}," for value in values), "]"]


def _render_entries(table: Table) -> list[str]:
    """Return the lines of a table, sorted; of a dependency that is only a version, the version."""
    return [
        f"{key} = {_render_value(value['version'] if _is_bare(value) else value)}"
        for key, value in sorted(table.items())
    ]


def _is_bare(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"version"}


def _render_value(value: object) -> str:
    """Return a value as TOML on one line; strings, numbers and booleans are those of JSON."""
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{key} = {_render_value(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_render_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
