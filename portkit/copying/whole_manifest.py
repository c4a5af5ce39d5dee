"""The manifest of the counterpart of a crate that is the source vendor's as a whole."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from portkit.copying.bindings import bindings_features
from portkit.copying.launchers import Launchers, launchers
from portkit.copying.requirement import requirement
from portkit.copying.whole_crates import copied_feature, copy_of, entries, source_features
from portkit.hipify.paths import BUILD
from portkit.lang.toml import written
from portkit.profile.profile import dependency

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.profile.whole_crate import WholeCrate
    from portkit.site.context import Job
    from portkit.tree.workspace import Crate

_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_LEFT_OUT: Final = frozenset(
    {"documentation", "exclude", "homepage", "include", "links", "metadata", "readme"}
)
"""Keys about the crate's pages, its files and its library, which the counterpart does not share."""


def manifest(job: Job, whole: WholeCrate) -> str:
    """Return the manifest of the counterpart of a crate.

    It says what the crate's says, with ROCm's features for CUDA's. What the workspace asks for with
    CUDA's features is written out, since a member cannot take one away (the Cargo book, chapter
    "Specifying Dependencies").

    Args:
        job: the job.
        whole: the crate.
    """
    crate = next(c for c in job.workspace.crates if c.directory == whole.directory)
    said = crate.manifest
    parts = [_section("package", _package(job, whole, said["package"]))]
    for key, table in said.items():
        if key in ("lib", "profile", "lints"):
            parts.append(_section(key, _target(job, whole, table)))
        elif key == "features":
            parts.append(_section(key, dict(_features(job, crate, table))))
        elif key == "target":
            for target, each in table.items():
                for kind in _TABLES:
                    found = dict(_dependencies(job, whole, each.get(kind)))
                    parts.append(_section(f"target.{json.dumps(target)}.{kind}", found))
        elif key in ("bin", "example", "test", "bench"):
            parts += [_section(key, _target(job, whole, each), of_array=True) for each in table]
    kernels, facade = launchers(job, whole), job.vendor.facade.name
    for kind in _TABLES:
        found = dict(_dependencies(job, whole, said.get(kind)))
        if kind == "dependencies" and isinstance(kernels, Launchers) and kernels.alone:
            found[facade] = _Raw(f"{{ {requirement(job, facade, whole.place, {})} }}")
        if kind == "build-dependencies" and isinstance(kernels, Launchers):
            support = job.codebase.support
            found = {BUILD: _Raw(f"{{ {dependency(support, _up(whole))} }}")} if support else {}
        parts.append(_section(kind, found))
    return "\n".join(part for part in parts if part)


class _Raw(str):
    """A value as it is written."""

    __slots__ = ()


def _package(job: Job, whole: WholeCrate, said: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in said.items() if key not in _LEFT_OUT}
    found["name"] = whole.copy
    if isinstance(found.get("description"), str):
        found["description"] = job.vendor.names.text(found["description"])
    if isinstance(found.get("keywords"), list):
        found["keywords"] = [k for k in found["keywords"] if not job.names_source(k)]
    return found


def _target(job: Job, whole: WholeCrate, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a target, with the new names of it and of its file."""
    found = dict(said)
    if isinstance(found.get("name"), str):
        own = found["name"] == whole.module
        found["name"] = whole.copied_module if own else job.vendor.names.word(found["name"])
    if isinstance(found.get("path"), str):
        path = copy_of(job, whole, posixpath.normpath(f"{whole.directory}/{found['path']}"))
        found["path"] = path.removeprefix(f"{whole.place}/")
    asked = found.get("required-features")
    if isinstance(asked, list):
        found["required-features"] = [copied_feature(job, each) for each in asked]
    return found


def _features(
    job: Job, crate: Crate, said: Mapping[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    for name, members in said.items():
        if name not in job.vendor.unported:
            kept = [m for m in members if m.rpartition("/")[2] not in job.vendor.unported]
            renamed = (_member(job, crate, member) for member in kept)
            yield copied_feature(job, name), [*dict.fromkeys(filter(None, renamed))]


def _member(job: Job, crate: Crate, member: str) -> str:
    """Return what a member of a feature becomes, or an empty string to leave it out."""
    dep, own = ("dep:", member[4:]) if member.startswith("dep:") else ("", member)
    name, slash, feature = own.partition("/")
    mark = "?" if name.endswith("?") else ""
    name = name.rstrip("?")
    entry = job.workspace.dependency(crate, name)
    package = str(entry.get("package", name))
    written_crate = job.written_crate(package) if entry else ""
    if entry and not written_crate and job.vendor.dependencies.get(package) in ("", "driver"):
        return ""
    if not slash:
        return f"{dep}{written_crate or (name if entry else copied_feature(job, name))}"
    if written_crate == job.vendor.facade.name and feature not in bindings_features(job):
        # The member turns an optional dependency on, which the counterpart needs as well.
        return f"dep:{written_crate}" if entry.get("optional") and not mark else ""
    if written_crate:
        return f"{written_crate}{mark}/{copied_feature(job, feature)}"
    known = source_features(job.workspace, job.vendor, job.codebase, package)
    if feature in job.counterparts and feature not in known:
        return ""
    return f"{name}{mark}/{known.get(feature, feature)}"


def _dependencies(job: Job, whole: WholeCrate, table: object) -> Iterator[tuple[str, Any]]:
    workspace, up = job.workspace, _up(whole)
    merged = dict(entries(workspace, table))
    for name, said in table.items() if isinstance(table, dict) else ():
        entry = merged.get(name)
        package = str(entry.get("package", name)) if entry else name
        known = job.vendor.dependencies.get(package)
        if entry is None or known in ("", "driver"):
            continue
        crate = job.written_crate(package)
        if crate:
            taken = requirement(job, crate, whole.place, entry)
            optional = ", optional = true" if entry.get("optional") else ""
            yield crate, _Raw(f"{{ {taken}{optional} }}")
            continue
        own = source_features(workspace, job.vendor, job.codebase, package)
        asked = entry.get("features", [])
        if not any(feature in own for feature in asked):
            yield name, said
            continue
        kept = [own.get(each, each) for each in asked if each not in job.vendor.unported]
        entry = {**entry, "features": [*dict.fromkeys(kept)]}
        inherited = isinstance(said, dict) and said.get("workspace") is True
        if inherited and isinstance(entry.get("path"), str):
            entry["path"] = posixpath.normpath(posixpath.join(up, entry["path"]))
        yield name, entry


def _up(whole: WholeCrate) -> str:
    return "../" * (whole.place.count("/") + 1)


def _section(name: str, said: Mapping[str, Any], *, of_array: bool = False) -> str:
    if not said:
        return ""
    head = f"[[{name}]]" if of_array else f"[{name}]"
    return "\n".join([head, *(_line(key, value) for key, value in said.items()), ""])


def _line(key: str, value: Any) -> str:
    if value == {"workspace": True}:
        return f"{written(key)}.workspace = true"
    return f"{written(key)} = {_value(value)}"


def _value(value: Any) -> str:
    """Return a value as TOML has it; strings in JSON are strings in TOML (TOML 1.0, "String")."""
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        inside = ", ".join(f"{written(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return re.sub("\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))
    return json.dumps(value, default=str)
