"""Profiles: all that is particular to a vendor or to one codebase, as data.

A *vendor* profile says what CUDA's names become on another vendor's platform, for any codebase. A
*codebase* profile holds what is particular to one codebase. Each is the main file of a directory
(``portkit.codebases.directory``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase, translate
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final, TypeVar

from msgspec import convert, field
from msgspec.structs import replace

from portkit.codebases.directory import TEMPLATES, Directory, vendor_directory
from portkit.codebases.registry import MAIN
from portkit.errors import ProfileError
from portkit.profiles.entries import (
    CodebaseFile,
    Condition,
    Entry,
    Fact,
    FeatureConflict,
    HipSources,
    Host,
    Keep,
    KernelsCrate,
    NoFeatureFiles,
    Patch,
    ProsePatch,
    TextPatch,
    Unported,
)
from portkit.profiles.vendor_file import VendorFile
from portkit.syntax.name_table import NameTable
from portkit.syntax.typed_toml import Key, suggest_nearest
from portkit.syntax.value import Value
from portkit.templates import is_shared

Kind = TypeVar("Kind")

VENDOR: Final = "vendor.toml"
"""The main file of a vendor's directory."""


class Facade(Value, frozen=True):
    """The crate that has cudarc's shape under HIP's names."""

    name: str
    package: str
    # Where the tree takes it from, in the words of Cargo's dependencies (``path``, ``git``,
    # ``version``, ...); empty where it holds a copy.
    source: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    # By version of the source's bindings, the module with the shape that they had before.
    older: Mapping[str, str] = field(default_factory=dict)
    # That of those modules which the tree's code is written against; empty for none.
    shape: str = ""
    unused: tuple[str, ...] = ()  # Modules for libraries that the tree asks for nowhere.

    @property
    def module(self) -> str:
        """The name under which Rust code imports the crate."""
        return _module_name(self.name)

    def dependency(self, up: str, version: str) -> str:
        """Return the entry of a dependency on the crate, without braces.

        Args:
            up: the way from the manifest's folder to the workspace root, such as ``../``.
        """
        if not self.source:
            return f'path = "{up}{self.name}", version = "{version}"'
        said = [format_dependency(self.source, up)]
        said.insert(0, f'package = "{self.package}"')
        if self.features:
            listed = ", ".join(f'"{name}"' for name in self.features)
            said.append(f"features = [{listed}]")
        return ", ".join(said)


def format_dependency(source: Mapping[str, str], up: str) -> str:
    """Return the entry of a dependency on a crate from elsewhere, without braces.

    Args:
        up: the way from the manifest's folder to the workspace root, such as ``../``.
    """
    said = dict(source)
    if "path" in said and not PurePath(said["path"]).is_absolute():
        said["path"] = up + said["path"]
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in said.items())


class Generator(Value, frozen=True):
    """The crate that writes HIP sources at run time, from the kernels of a compiler."""

    name: str
    source: str  # The crate that writes CUDA sources, whose place it takes.
    oldest: str  # The first version of that crate whose kernels it reads.

    @property
    def module(self) -> str:
        """The name under which Rust code imports the crate."""
        return _module_name(self.name)


class VendorProfile(Value, frozen=True):
    """What CUDA's names become on one vendor's platform."""

    name: str
    source: str
    variant: str
    peers: tuple[str, ...]
    vocabulary: tuple[str, ...]
    peer_vocabulary: tuple[str, ...]
    own_vocabulary: tuple[str, ...]
    source_maker: str
    names: NameTable
    bindings: str
    # By version, identifiers that those bindings had before it.
    older: Mapping[str, Mapping[str, str]]
    # Parameters of functions whose type differs, as they stand in the source.
    parameters: Mapping[str, str]
    unported: Mapping[str, str]
    libraries: Mapping[str, str]  # Features for a library, and those for its counterpart.
    # Crates and their counterparts; empty where an entry is dropped.
    dependencies: Mapping[str, str]
    # Programs of the source's, and what does their part for the vendor.
    programs: Mapping[str, str]
    # Methods of the source's bindings that the written crate has not, and why.
    methods: Mapping[str, str]
    # Modules of Python that the vendor has under the source's names, and why.
    frameworks: Mapping[str, str]
    facade: Facade
    generator: Generator
    feature: str
    source_feature: str
    # Other features that turn that one on and are named alike, as `cuda` does where the backend
    # stands under `_cuda`.
    spellings: tuple[str, ...] = ()
    # Bindings that a codebase below hands out, and why nothing tells their shape.
    unsettled: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The vendor's platform as prose writes it, such as ``ROCm``."""
        return self.names.prose.get(self.source.upper(), self.variant)


class PortedDependency(Value, frozen=True):
    """A crate from elsewhere that a port has given a feature."""

    codebase: str
    source_feature: str
    feature: str
    # Features for a library, and those for its counterpart.
    libraries: Mapping[str, str] = field(default_factory=dict)
    bindings: str = ""  # The crate of bindings that the port has, where the crate hands them out.
    # The version of the source's bindings that it asks for, by the version of its own from which
    # on.
    source_bindings: Mapping[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The module of those bindings within the crate."""
        return _module_name(self.bindings)


class CodebaseProfile(Value, frozen=True, dict=True):
    """What is particular to one codebase."""

    name: str
    crate: str  # The crate whose presence says that a workspace is this codebase.
    first_version: str
    # The variant of its error that says that the vendor's feature is off.
    error_without_feature: str
    words: Mapping[str, str]
    dependencies: Mapping[str, str]
    keep: tuple[Keep, ...]
    conditions: tuple[Condition, ...]  # Decisions about conditions, the first that applies counts.
    patches: tuple[Patch, ...]
    kernels: KernelsCrate | None
    templates: Mapping[str, str]
    unported: Mapping[str, str]  # Its own features without a counterpart, with the reason.
    hip_sources: tuple[HipSources, ...]
    # Whether files of the tree hold texts, for the templates.
    facts: Mapping[str, Fact] = field(default_factory=dict)
    feature_conflicts: tuple[FeatureConflict, ...] = ()
    kept_names: Mapping[str, str] = field(default_factory=dict)
    bindings: str = ""
    feature: str = ""  # The Cargo feature that the port writes; empty for the vendor's name.
    source_feature: str = ""
    # The version of the source's bindings that its crates ask for, by the version of its own from
    # which on; empty where they hand none out.
    source_bindings: Mapping[str, str] = field(default_factory=dict)
    generator: str = ""  # The crate that writes HIP sources at run time, where the port needs it.
    variables: str = ""  # How the names of the environment variables begin that the port reads.
    # Where the rest of what is particular to it lies, if anywhere.
    directory: Directory | None = None
    # Its names, its unported features and its files as the file has them.
    versions: Mapping[Key, str | Entry] = field(default_factory=dict)
    declared_dependencies: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    ported: Mapping[str, PortedDependency] = field(default_factory=dict)
    # Where the tree takes the crate from that compiles kernels, in the words of Cargo's
    # dependencies; empty where the crate of kernels holds a copy.
    support: Mapping[str, str] = field(default_factory=dict)
    # Whether the port has the workflows that the profile lists; none where that is so in a tree
    # that has workflows.
    ci: bool | None = None
    # The files that take the path without the source's feature.
    # Files in which what stands under the source's feature has no counterpart.
    plain: tuple[NoFeatureFiles, ...] = ()
    # How an operation is computed on the host; of a codebase below where it says nothing.
    host: Host | None = None
    # The crates of the tree that are the source vendor's as a whole.
    whole: tuple[CudaOnlyCrate, ...] = ()

    def of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the patches of a kind."""
        return tuple(patch for patch in self.patches if isinstance(patch, kind))

    def key(self, entry: Entry) -> str:
        """Return the name of an entry in findings, such as ``patch 3``, counted from 0."""
        return self._keys[id(entry)]

    def kept(self, path: str) -> Keep | None:
        """Return the entry that leaves a file unchanged, if any."""
        if self._keeps.match(path) is None:  # as of most files
            return None
        return next(k for k in self.keep if fnmatchcase(path, k.path))

    def find_no_feature_entry(self, path: str) -> NoFeatureFiles | None:
        """Return the entry by which a file uses the code without the source's feature, if any."""
        if not self.plain:
            return None
        if path not in self._plain:
            self._plain[path] = next((p for p in self.plain if p.holds(path)), None)
        return self._plain[path]

    def find_cuda_only_crate(self, path: str) -> CudaOnlyCrate | None:
        """Return the crate that is the source vendor's as a whole and holds a file, if any."""
        return next((each for each in self.whole if path.startswith(f"{each.directory}/")), None)

    @cached_property
    def _plain(self) -> dict[str, NoFeatureFiles | None]:
        """The answers for the files so far."""
        return {}

    @cached_property
    def _keys(self) -> dict[int, str]:
        """The names of the entries; equal entries have different names."""
        kinds: dict[str, tuple[Entry, ...]] = {
            "keep": self.keep,
            "plain": self.plain,
            "condition": self.conditions,
            "patch": self.patches,
            "exclusive": self.feature_conflicts,
        }
        return {
            id(entry): f"{kind} {number}"
            for kind, entries in kinds.items()
            for number, entry in enumerate(entries)
        }

    @cached_property
    def _keeps(self) -> re.Pattern[str]:
        """A pattern for the files that any entry leaves unchanged."""
        return re.compile("|".join(translate(each.path) for each in self.keep) or "(?!)")


def load_vendor(name: str, codebase: CodebaseProfile | None = None) -> VendorProfile:
    """Load a vendor profile, with the names that a codebase adds.

    Raises:
        ProfileError: there is no such profile, it is malformed, or the codebase gives a feature the
            name of another.
    """
    said = vendor_directory(name).typed(VENDOR, VendorFile)
    unported = codebase.unported if codebase else {}
    names = said.names
    name = codebase.bindings if codebase else _join_crate_name("hip")
    facade = Facade(name, said.facade.package, older=said.facade.older)
    generator = Generator(
        codebase.generator if codebase else _join_crate_name("ug-rocm"),
        said.generator.source,
        said.generator.oldest,
    )
    table = NameTable(
        words={
            **names.words,
            said.bindings: facade.module,
            _module_name(generator.source): generator.module,
            **(codebase.words if codebase else {}),
            **{name: name for name in (codebase.kept_names if codebase else ())},
            **{name: name for name in said.libraries if name in unported},
        },
        parts=names.parts,
        prose=names.prose,
        pages=names.pages,
        kept_strings=names.kept_strings,
        binary=names.binary,
        binary_names=names.binary_names,
        sources=names.sources,
        crates={
            each.module: each.copied_module
            for each in (codebase.whole if codebase else ())
            if not each.unported
        },
    )
    source_feature, feature = name_features(said, codebase)
    if {table.rust(f'"{each}"') for each in (source_feature, feature)} != {f'"{feature}"'}:
        table = replace(table, feature=(source_feature, feature))
    return VendorProfile(
        name=said.name,
        source=said.source,
        variant=said.variant,
        peers=said.peers,
        vocabulary=said.vocabulary.source,
        peer_vocabulary=said.vocabulary.peers,
        own_vocabulary=said.vocabulary.own,
        source_maker=said.vocabulary.maker,
        names=table,
        bindings=said.bindings,
        older=names.older,
        parameters=names.parameters,
        unported={**said.unported, **unported},
        libraries=said.libraries,
        dependencies={**said.dependencies, **(codebase.dependencies if codebase else {})},
        programs=said.programs,
        methods=said.methods,
        frameworks=said.frameworks,
        facade=facade,
        generator=generator,
        feature=feature,
        source_feature=source_feature,
    )


def load_codebase(directory: Directory) -> CodebaseProfile:
    """Load the profile in the directory of a codebase."""
    said = directory.typed(MAIN, CodebaseFile)
    _check_templates(said, directory)
    return decode_codebase(said, directory)


def decode_codebase(said: CodebaseFile, directory: Directory | None = None) -> CodebaseProfile:
    """Return the codebase profile that a file holds."""
    kernels = said.kernels
    words = {k: w if isinstance(w, str) else w.to for k, w in said.names.words.items()}
    dependencies = dict(said.dependencies)
    if kernels is not None:
        name = kernels.name or _join_crate_name(said.name, "rocm-kernels")
        kernels = KernelsCrate(name=name, source=kernels.source, form=kernels.form)
        words.setdefault(_module_name(kernels.source), _module_name(kernels.name))
        dependencies.setdefault(kernels.source, "kernels")
    return CodebaseProfile(
        name=said.name,
        crate=said.crate,
        first_version=said.first_version,
        error_without_feature=said.error_without_feature,
        words=words,
        dependencies=dependencies,
        keep=said.keep,
        plain=said.plain,
        host=said.host,
        conditions=said.condition,
        patches=said.patch,
        kernels=kernels,
        templates={p: t if isinstance(t, str) else t.template for p, t in said.templates.items()},
        unported=_reasons(said.unported),
        facts=said.facts,
        kept_names=_reasons(said.names.kept),
        hip_sources=said.hip_sources,
        feature_conflicts=said.exclusive,
        bindings=said.bindings or _join_crate_name(said.name, "hip"),
        feature=said.feature,
        source_feature=said.source_feature,
        source_bindings=said.source_bindings,
        generator=said.generator or _join_crate_name(said.name, "ug-rocm"),
        variables=said.variables or _join_crate_name(said.name, "rocm").upper().replace("-", "_"),
        directory=directory,
        declared_dependencies=tuple(said.dependencies),
        uses=said.uses,
        versions={
            **{("names", "words", k): w for k, w in said.names.words.items()},
            **{("names", "kept", k): u for k, u in said.names.kept.items()},
            **{("unported", k): u for k, u in said.unported.items()},
            **{("templates", p): t for p, t in said.templates.items()},
        },
    )


def _reasons(said: Mapping[str, str | Unported]) -> dict[str, str]:
    return {name: one if isinstance(one, str) else one.reason for name, one in said.items()}


def parse_codebase(data: Mapping[str, Any], directory: Directory | None = None) -> CodebaseProfile:
    """Return the codebase profile that a parsed TOML file holds."""
    return decode_codebase(convert(data, CodebaseFile), directory)


def _is_there(directory: Directory, template: str, key: Key) -> bool:
    try:
        return directory.has(f"{TEMPLATES}/{template}")
    except ProfileError as error:
        raise directory.fault(MAIN, key, str(error)) from None


def _check_templates(said: CodebaseFile, directory: Directory) -> None:
    """Refuse a profile that names a template which is not there."""
    named: list[tuple[Key, str]] = [
        (("patch", number, "template"), patch.template)
        for number, patch in enumerate(said.patch)
        if not isinstance(patch, (TextPatch, ProsePatch)) and patch.template
    ]
    named += (
        (("templates", path), each if isinstance(each, str) else each.template)
        for path, each in said.templates.items()
    )
    known = directory.files(TEMPLATES)
    for key, template in named:
        if not (template in known or _is_there(directory, template, key) or is_shared(template)):
            raise directory.fault(
                MAIN,
                key,
                f"there is no template {template!r} in {directory.root / TEMPLATES}"
                f"{suggest_nearest(template, known)}",
            )


def _join_crate_name(*parts: str) -> str:
    """Return a crate's name from the name of the codebase, which may be empty, and an ending."""
    return "-".join(filter(None, parts))


def _module_name(crate: str) -> str:
    """Return the name under which Rust code imports a crate."""
    return crate.replace("-", "_")


def name_features(vendor: VendorFile, codebase: CodebaseProfile | None) -> tuple[str, str]:
    """Return the feature of the source and the feature that is written.

    Raises:
        ProfileError: the codebase gives one of them a name that stands for something else; with
            the line.
    """
    if codebase is None:
        return vendor.source, vendor.name
    libraries = (*vendor.libraries, *vendor.libraries.values())
    source, written = codebase.source_feature or vendor.source, codebase.feature or vendor.name
    for key, name, words in (
        ("feature", written, (*vendor.vocabulary.source, *vendor.vocabulary.peers)),
        ("source_feature", source, vendor.vocabulary.peers),
    ):
        word = next((word for word in words if word in name.lower()), "")
        if source == written:
            fault = f"feature and source_feature are both {name!r}"
        elif name in (*vendor.peers, *vendor.unported, *codebase.unported, *libraries):
            fault = f"{name!r} is the feature of a peer, of a library, or of what is not ported"
        elif word:
            fault = f"{name!r} holds {word!r}, by which another platform is known"
        else:
            continue
        if getattr(codebase, key):
            raise _error(codebase, key, f"{fault}: name another")
    return source, written


def _error(codebase: CodebaseProfile, key: str, fault: str) -> ProfileError:
    place = codebase.directory
    return place.fault(MAIN, (key,), fault) if place is not None else ProfileError(fault)


class CudaOnlyCrate(Value, frozen=True):
    """A crate that is the source vendor's as a whole, and its counterpart."""

    name: str
    directory: str
    copy: str
    place: str
    module: str
    copied_module: str
    unported: str = ""
