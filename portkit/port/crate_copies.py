"""What a counterpart of a whole crate has beside copies of Rust files: manifest, build, kernels."""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from portkit.hipify.paths import BUILD_SCRIPT
from portkit.hipify.prelude import load_build_support, load_device_files
from portkit.hipify.rules import CODES
from portkit.hipify.translated_sources import TranslatedSources
from portkit.port.c_launchers import CrateLaunchers, find_launchers
from portkit.port.hip_bindings import list_bindings_features
from portkit.port.kernel_files import find_kernel_folder
from portkit.port.template_values import render_template
from portkit.port.toolkit_versions import is_version_feature
from portkit.port.whole_crates import (
    find_copy_path,
    list_cuda_features,
    list_table_entries,
    rename_feature,
    write_requirement,
)
from portkit.profiles.profile import format_dependency
from portkit.syntax.span import Span
from portkit.syntax.toml_nodes import quote_key
from portkit.syntax.value import Value
from portkit.templates import read_template as template
from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from portkit.context.port_job import PortJob
    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.translator import Translation
    from portkit.profiles.profile import CudaOnlyCrate
    from portkit.workspace.cargo_workspace import Crate


_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_LEFT_OUT: Final = frozenset(
    {"documentation", "exclude", "homepage", "include", "links", "metadata", "readme"}
)
"""Keys about the crate's pages, its files and its library, which the counterpart does not share.

Cargo refuses two crates that link one library. A key ``links`` that names CUDA is written renamed,
for build scripts read it as a variable: ``DEP_CUDA_GLOW_INCLUDE`` becomes ``DEP_ROCM_GLOW_INCLUDE``
(the Cargo book, chapter "Build scripts", section "The ``links`` manifest key").
"""


def write_manifest(job: PortJob, whole: CudaOnlyCrate) -> str:
    """Return the manifest of the counterpart of a crate.

    It says what the crate's says, with ROCm's features for CUDA's. What the workspace asks for with
    CUDA's features is written out, since a member cannot take one away (the Cargo book, chapter
    "Specifying Dependencies").
    """
    crate = next(c for c in job.workspace.crates if c.directory == whole.directory)
    said = crate.manifest
    parts = [_write_section("package", _write_package(job, whole, said["package"]))]
    for key, table in said.items():
        if key in ("lib", "profile", "lints"):
            parts.append(_write_section(key, _write_target(job, whole, table)))
        elif key == "features":
            parts.append(_write_section(key, dict(_write_features(job, crate, table))))
        elif key == "target":
            for target, each in table.items():
                for kind in _TABLES:
                    found = dict(_write_dependencies(job, whole, each.get(kind)))
                    parts.append(_write_section(f"target.{json.dumps(target)}.{kind}", found))
        elif key in ("bin", "example", "test", "bench"):
            parts += [
                _write_section(key, _write_target(job, whole, each), of_array=True)
                for each in table
            ]
    kernels, facade = find_launchers(job, whole), job.vendor.facade.name
    for kind in _TABLES:
        found = dict(_write_dependencies(job, whole, said.get(kind)))
        if kind == "dependencies" and isinstance(kernels, CrateLaunchers) and kernels.alone:
            found[facade] = _Raw(f"{{ {write_requirement(job, facade, whole.place, {})} }}")
        if kind == "build-dependencies" and isinstance(kernels, CrateLaunchers):
            support = job.codebase.support
            found = (
                {BUILD_SCRIPT: _Raw(f"{{ {format_dependency(support, _write_way_up(whole))} }}")}
                if support
                else {}
            )
        parts.append(_write_section(kind, found))
    return "\n".join(part for part in parts if part)


class _Raw(str):
    """A value as it is written."""

    __slots__ = ()


def _write_package(job: PortJob, whole: CudaOnlyCrate, said: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in said.items() if key not in _LEFT_OUT}
    found["name"] = whole.copy
    links = str(said.get("links", ""))
    if (renamed := job.vendor.names.text(links)) != links:
        found["links"] = renamed
    if isinstance(found.get("description"), str):
        found["description"] = job.vendor.names.text(found["description"])
    if isinstance(found.get("keywords"), list):
        found["keywords"] = [k for k in found["keywords"] if not job.mentions_cuda(k)]
    return found


def _write_target(job: PortJob, whole: CudaOnlyCrate, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a target, with the new names of it and of its file."""
    found = dict(said)
    if isinstance(found.get("name"), str):
        own = found["name"] == whole.module
        found["name"] = whole.copied_module if own else job.vendor.names.word(found["name"])
    if isinstance(found.get("path"), str):
        path = find_copy_path(job, whole, posixpath.normpath(f"{whole.directory}/{found['path']}"))
        found["path"] = path.removeprefix(f"{whole.place}/")
    asked = found.get("required-features")
    if isinstance(asked, list):
        found["required-features"] = [rename_feature(job, each) for each in asked]
    return found


def _write_features(
    job: PortJob, crate: Crate, said: Mapping[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    for name, members in said.items():
        if not _is_left_out(job, name):
            kept = [m for m in members if not _is_left_out(job, m.rpartition("/")[2])]
            renamed = (_convert_member(job, crate, member) for member in kept)
            yield rename_feature(job, name), [*dict.fromkeys(filter(None, renamed))]


def _is_left_out(job: PortJob, feature: str) -> bool:
    """Whether a feature has no counterpart: it is unported, or a version of CUDA's toolkit."""
    return feature in job.vendor.unported or is_version_feature(job.vendor, feature)


def _convert_member(job: PortJob, crate: Crate, member: str) -> str:
    """Return what a member of a feature becomes, or an empty string to leave it out."""
    dep, own = ("dep:", member[4:]) if member.startswith("dep:") else ("", member)
    name, slash, feature = own.partition("/")
    mark = "?" if name.endswith("?") else ""
    name = name.rstrip("?")
    entry = job.workspace.dependency(crate, name)
    package = str(entry.get("package", name))
    written_crate = job.find_counterpart_crate(package) if entry else ""
    if entry and not written_crate and job.vendor.dependencies.get(package) in ("", "driver"):
        return ""
    if not slash:
        return f"{dep}{written_crate or (name if entry else rename_feature(job, name))}"
    if written_crate == job.vendor.facade.name and feature not in list_bindings_features(job):
        # The member turns an optional dependency on, which the counterpart needs as well.
        return f"dep:{written_crate}" if entry.get("optional") and not mark else ""
    if written_crate:
        return f"{written_crate}{mark}/{rename_feature(job, feature)}"
    known = list_cuda_features(job.workspace, job.vendor, job.codebase, package)
    if feature in job.counterparts and feature not in known:
        return ""
    return f"{name}{mark}/{known.get(feature, feature)}"


def _write_dependencies(
    job: PortJob, whole: CudaOnlyCrate, table: object
) -> Iterator[tuple[str, Any]]:
    workspace, up = job.workspace, _write_way_up(whole)
    merged = dict(list_table_entries(workspace, table))
    for name, said in table.items() if isinstance(table, dict) else ():
        entry = merged.get(name)
        package = str(entry.get("package", name)) if entry else name
        known = job.vendor.dependencies.get(package)
        if entry is None or known in ("", "driver"):
            continue
        crate = job.find_counterpart_crate(package)
        if crate:
            taken = write_requirement(job, crate, whole.place, entry)
            optional = ", optional = true" if entry.get("optional") else ""
            yield crate, _Raw(f"{{ {taken}{optional} }}")
            continue
        own = list_cuda_features(workspace, job.vendor, job.codebase, package)
        asked = entry.get("features", [])
        if not any(feature in own for feature in asked):
            yield name, said
            continue
        kept = [own.get(each, each) for each in asked if not _is_left_out(job, each)]
        entry = {**entry, "features": [*dict.fromkeys(kept)]}
        inherited = isinstance(said, dict) and said.get("workspace") is True
        if inherited and isinstance(entry.get("path"), str):
            entry["path"] = posixpath.normpath(posixpath.join(up, entry["path"]))
        yield name, entry


def _write_way_up(whole: CudaOnlyCrate) -> str:
    return "../" * (whole.place.count("/") + 1)


def _write_section(name: str, said: Mapping[str, Any], *, of_array: bool = False) -> str:
    if not said:
        return ""
    head = f"[[{name}]]" if of_array else f"[{name}]"
    return "\n".join([head, *(_write_line(key, value) for key, value in said.items()), ""])


def _write_line(key: str, value: Any) -> str:
    if value == {"workspace": True}:
        return f"{quote_key(key)}.workspace = true"
    return f"{quote_key(key)} = {_write_value(value)}"


def _write_value(value: Any) -> str:
    """Return a value as TOML has it; strings in JSON are strings in TOML (TOML 1.0, "String")."""
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, dict):
        inside = ", ".join(
            f"{quote_key(key)} = {_write_value(each)}" for key, each in value.items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, str):
        return re.sub("\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))
    return json.dumps(value, default=str)


_RUNTIME: Final = "hip_runtime.cpp"
_CALLED: Final = re.compile(r"\b(hip[A-Z]\w*[a-z])\s*\(")
_OF_THE_COMPILER: Final = frozenset({"hipLaunchKernelGGL"})
"""Macros that end in a launch."""


class CrateCopy(Value, frozen=True, dict=True):
    """The counterpart of a crate that is the source vendor's as a whole."""

    job: PortJob  # the job
    whole: CudaOnlyCrate  # the crate
    profile: KernelProfile  # what is known of its kernels

    def files(self) -> Mapping[str, Callable[[], str]]:
        """Return the files by their path in the tree, and what makes the text of each."""
        place = self.whole.place
        found: dict[str, Callable[[], str]] = {
            f"{place}/Cargo.toml": partial(write_manifest, self.job, self.whole)
        }
        kernels = self._launchers
        if kernels is None:
            for path in self._translated.paths:
                found[self._place(path)] = partial(self._translated.text, path)
            return found
        found[f"{place}/build.rs"] = partial(self._build, kernels)
        if not self.job.codebase.support:
            for path, text in load_build_support(shared=False).items():
                found[f"{place}/{path}"] = partial(str, text)
        for name, text in _find_launchers().items():
            found[f"{place}/{kernels.folder}/{name}"] = partial(str, text)
        for path in self._translated.paths:
            found[f"{place}/{kernels.folder}/{path}"] = partial(self._translated.text, path)
        return found

    def findings(self) -> tuple[tuple[Finding, str, str], ...]:
        """Return what is said of each CUDA source, with its folder and the file it becomes."""
        made = self._translated
        more = self._report_missing_functions() if self._launchers is not None else ()
        found = (*made.findings, *more)
        return tuple((f, self._root, self._place(made.targets[f.path])) for f in found)

    def _report_missing_functions(self) -> Iterator[Finding]:
        """Yield what the sources call of the HIP runtime that stands between them has not."""
        known = {*re.findall(r"\bhip[A-Z]\w+", _find_launchers()[_RUNTIME]), *_OF_THE_COMPILER}
        for path, target in self._translated.targets.items():
            for name in sorted({*_CALLED.findall(self._translated.text(target))} - known):
                yield Finding(
                    code=CODES["unknown_name"],
                    path=path,
                    span=Span(0, 0),
                    construct="function of the HIP runtime",
                    symbol=name,
                    applicability=Applicability.MANUAL,
                    status=Status.NONE,
                    message=f"{_RUNTIME} does not hand {name} on to the HIP runtime, so that a"
                    " program is not linked: add it there",
                )

    def translations(self) -> Mapping[str, Callable[[], Translation]]:
        """Return what translates each CUDA source, by its path in the tree."""
        made = self._translated
        return {f"{self._root}/{path}": partial(made.translation, path) for path in made.targets}

    @cached_property
    def _launchers(self) -> CrateLaunchers | None:
        found = find_launchers(self.job, self.whole)
        return found if isinstance(found, CrateLaunchers) else None

    @cached_property
    def _root(self) -> str:
        """The folder of the CUDA sources: that of the launchers, or the one that holds all."""
        if self._launchers is not None:
            return f"{self.whole.directory}/{self._launchers.folder}"
        return find_kernel_folder(self.job, self.whole) or self.whole.directory

    def _place(self, path: str) -> str:
        """Return where a file of the translation lies: folders are renamed as in Rust's strings."""
        below = f"{self._root}/{path}".removeprefix(f"{self.whole.directory}/")
        if self._launchers is not None:
            return f"{self.whole.place}/{below}"
        *folders, name = below.split("/")
        return "/".join([self.whole.place, *map(self.job.vendor.names.word, folders), name])

    @cached_property
    def _translated(self) -> TranslatedSources:
        start = f"{self._root}/"
        workspace = self.job.workspace
        sources = {
            path.removeprefix(start): source.data
            for path, source in workspace.sources.items()
            if path.startswith(start)
        }
        known = {
            path.removeprefix(start): made
            for path, made in self.job.translated.items()
            if path.startswith(start)
        }
        if self._launchers is None and not find_kernel_folder(self.job, self.whole):
            sources = {}
        return TranslatedSources(sources, self.profile, known, headers_too=True)

    def _build(self, kernels: CrateLaunchers) -> str:
        support = BUILD_SCRIPT.replace("-", "_") if self.job.codebase.support else ""
        return render_template(
            self.job,
            "whole/build.rs.j2",
            variables=kernels.variables,
            shared=self.job.codebase.variables or kernels.variables,
            folder=kernels.folder,
            units=kernels.units,
            support=support,
            cpp=kernels.cpp,
        )


@cache
def _find_launchers() -> Mapping[str, str]:
    """Return what stands between the launchers and the HIP runtime, by name."""
    files = load_device_files()
    more = template("whole/forwarded.cpp")
    return {_RUNTIME: files[_RUNTIME] + more, "launchers.hip": files["launchers.hip"]}
