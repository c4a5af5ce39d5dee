"""Profiles: all that is particular to a vendor or to one codebase, as data.

A *vendor* profile says what CUDA's names become on another vendor's platform, for any codebase. A
*codebase* profile holds what is particular to one codebase. Each is the main file of a directory
(``portkit.codebases.directory``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from portkit.codebases.directory import vendor_directory
from portkit.codebases.known import MAIN
from portkit.errors import ProfileError
from portkit.hipify.paths import hip_path
from portkit.lang.renaming import NameTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.codebases.directory import Directory

VENDOR: Final = "vendor.toml"
"""The main file of a vendor's directory."""


@dataclass(frozen=True)
class Facade:
    """The crate that has cudarc's shape under HIP's names.

    Attributes:
        name: what the tree calls it.
        package: what it is called where it is published.
        source: where the tree takes it from, in the words of Cargo's dependencies (``path``,
            ``git``, ``version``, ...); empty where it holds a copy.
        features: what the tree needs of it, where it is no copy.
    """

    name: str
    package: str
    source: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The name under which Rust code imports the crate."""
        return _module(self.name)

    def dependency(self, up: str, version: str) -> str:
        """Return what a manifest says of the crate, without braces.

        Args:
            up: the way from the manifest's folder to the workspace root, such as ``../``.
            version: of the workspace, which a copy has too.
        """
        if not self.source:
            return f'path = "{up}{self.name}", version = "{version}"'
        source = dict(self.source)
        if "path" in source and not PurePath(source["path"]).is_absolute():
            source["path"] = up + source["path"]
        said = [f"{key} = {json.dumps(value)}" for key, value in source.items()]
        said.insert(0, f'package = "{self.package}"')
        if self.features:
            listed = ", ".join(f'"{name}"' for name in self.features)
            said.append(f"features = [{listed}]")
        return ", ".join(said)


@dataclass(frozen=True)
class Generator:
    """The crate that writes HIP sources at run time, from the kernels of a compiler.

    Attributes:
        name: the crate's name.
        source: the crate that writes CUDA sources, whose place it takes.
    """

    name: str
    source: str

    @property
    def module(self) -> str:
        """The name under which Rust code imports the crate."""
        return _module(self.name)


@dataclass(frozen=True)
class VendorProfile:
    """What CUDA's names become on one vendor's platform.

    Attributes:
        name: the vendor backend that is written; also its Cargo feature.
        source: the vendor backend that is read.
        variant: the name of its enum variants.
        peers: other vendor backends that codebases hold.
        vocabulary: the words of the source's platform.
        peer_vocabulary: the words of the peers' platforms.
        own_vocabulary: the words of the vendor's own platform.
        names: how to rename.
        parameters: parameters of functions whose type differs, as they stand in the source.
        unported: features without a counterpart, with the reason.
        dependencies: crates and their counterparts; empty where an entry is dropped.
        facade: the bindings crate that the port writes.
        generator: the crate of generated kernels that the port writes.
    """

    name: str
    source: str
    variant: str
    peers: tuple[str, ...]
    vocabulary: tuple[str, ...]
    peer_vocabulary: tuple[str, ...]
    own_vocabulary: tuple[str, ...]
    names: NameTable
    parameters: Mapping[str, str]
    unported: Mapping[str, str]
    dependencies: Mapping[str, str]
    facade: Facade
    generator: Generator

    @property
    def title(self) -> str:
        """The vendor's platform as prose writes it, such as ``ROCm``."""
        return self.names.prose.get(self.source.upper(), self.variant)


@dataclass(frozen=True)
class Keep:
    """Files that are left alone on purpose.

    Attributes:
        path: a pattern over paths relative to the root.
        reason: why, for the reader of the report.
    """

    path: str
    reason: str


@dataclass(frozen=True)
class Condition:
    """A decision about conditions on the device.

    Attributes:
        when: a pattern that is looked for in the whole construct's text.
        path: a pattern over paths; empty for any.
        verdict: ``widen`` or ``keep``; ``peer`` for a condition on a peer, which is always kept.
        reason: why, for the reader of the report.
    """

    when: str
    path: str
    verdict: str
    reason: str

    @cached_property
    def _when(self) -> re.Pattern[str]:
        return re.compile(self.when)

    def applies(self, path: str, text: str) -> bool:
        """Whether the decision is about a construct with this text in this file."""
        return (not self.path or fnmatchcase(path, self.path)) and bool(self._when.search(text))


@dataclass(frozen=True)
class Override:
    """A hand-written template that replaces one named item of an analog.

    Attributes:
        path: a pattern over the CUDA side's file.
        symbol: the item, such as ``CudaDevice::compile``.
        template: in the codebase's directory, or else below ``portkit/templates``.
        reason: what differs between the two platforms.
        fingerprints: for each upstream version that the template was written against, the hash of
            the CUDA item.
    """

    path: str
    symbol: str
    template: str
    reason: str
    fingerprints: Mapping[str, str]


@dataclass(frozen=True)
class Repair:
    """A bug of the CUDA side that the copy does not carry on.

    Attributes:
        path: a pattern over the CUDA side's file.
        symbol: a pattern over its items.
        find: a regular expression over the item's copy.
        replace: what stands there in the copy.
        reason: the bug and its evidence, for the reader of the report.
        mended: for each upstream version that has no such bug, the hash of the item; any other
            version in which nothing is found is to be looked at.
    """

    path: str
    symbol: str
    find: str
    replace: str
    reason: str
    mended: Mapping[str, str] = field(default_factory=dict)

    def applies(self, path: str, symbol: str) -> bool:
        """Whether this is about an item of a file."""
        return fnmatchcase(symbol, self.symbol) and fnmatchcase(path, self.path)

    def lies_below(self, symbol: str) -> bool:
        """Whether this may be about an item inside of one with this symbol."""
        fixed = self.symbol.split("*")[0]
        return fixed.startswith(symbol) or (fixed != self.symbol and symbol.startswith(fixed))


@dataclass(frozen=True)
class Tidy:
    """What copies have instead of what the names alone give.

    That is a form that lints object to and that upstream's own do not see where they run without
    the source vendor's feature, or what the vendor's side can do beyond the source's.

    Attributes:
        path: a pattern over the CUDA side's file.
        find: a regular expression over a copy.
        replace: what stands there in the copy.
    """

    path: str
    find: str
    replace: str


@dataclass(frozen=True)
class Prose:
    """A change to a comment or a message, in a file of the tree or in a copy.

    Attributes:
        find: the exact text.
        replace: what stands there afterwards.
        reason: why, for the reader of the report.
    """

    find: str
    replace: str
    reason: str


@dataclass(frozen=True)
class Arms:
    """Arms of a ``match`` that no arm of the source vendor gives.

    Attributes:
        path: a pattern over paths.
        symbol: the function that holds the match.
        template: in the codebase's directory, or else below ``portkit/templates``.
        reason: why, for the reader of the report.
    """

    path: str
    symbol: str
    template: str
    reason: str


@dataclass(frozen=True)
class Guard:
    """A statement at the beginning of a function that is not ported.

    Attributes:
        path: a pattern over paths.
        symbol: the function.
        template: in the codebase's directory, or else below ``portkit/templates``; ``parameters``
            are the names of the function's.
        reason: why, for the reader of the report.
    """

    path: str
    symbol: str
    template: str
    reason: str


@dataclass(frozen=True)
class Exclusive:
    """Items under the source vendor's feature that cannot stand beside their copies.

    Attributes:
        path: a pattern over paths.
        symbol: a pattern over the items, and over what holds them.
        reason: why, for the reader of the report.
    """

    path: str
    symbol: str
    reason: str

    def applies(self, path: str, symbol: str) -> bool:
        """Whether this is about what stands under a symbol of a file."""
        return fnmatchcase(symbol, self.symbol) and fnmatchcase(path, self.path)


@dataclass(frozen=True)
class Section:
    """A section of a page of documentation.

    Attributes:
        path: the page, relative to the root.
        before: the heading that it is set before.
        heading: its own heading.
        template: in the codebase's directory, or else below ``portkit/templates``.
    """

    path: str
    before: str
    heading: str
    template: str


@dataclass(frozen=True)
class KernelsCrate:
    """The crate of kernels.

    Attributes:
        name: the crate that the port writes.
        source: the crate with the CUDA kernels.
    """

    name: str
    source: str


@dataclass(frozen=True)
class HipSources:
    """A folder of CUDA sources whose translations lie beside them.

    Attributes:
        source: the CUDA source that says that the folder is there.
        reason: what the translations are for.
    """

    source: str
    reason: str

    @property
    def folder(self) -> str:
        """The folder that holds it."""
        return self.source.rpartition("/")[0]

    @property
    def target(self) -> str:
        """The HIP source that it becomes."""
        return hip_path(self.source)


@dataclass(frozen=True)
class CodebaseProfile:
    """What is particular to one codebase.

    Attributes:
        name: the codebase.
        crate: the crate whose presence says that a workspace is this codebase.
        first_version: the first version that can be ported.
        error_without_feature: the variant of its error that says that the vendor's feature is off.
        bindings: the crate of bindings that the port writes.
        generator: the crate that writes HIP sources at run time, where the port needs it.
        variables: how the names of the environment variables begin that the port reads.
        words: its own identifiers.
        dependencies: its own crates and their counterparts.
        keep: files that are left alone.
        conditions: decisions about conditions, the first that applies counts.
        overrides: hand-written replacements.
        prose: changes to comments and messages.
        kernels: its kernels, where it has any.
        hip_sources: folders of other kernels.
        templates: files to add: path in the tree to template.
        arms: arms that no arm of the source vendor gives.
        sections: sections to add to pages of documentation.
        unported: its own features without a counterpart, with the reason.
        guards: statements at the beginning of functions that are not ported.
        repairs: bugs of the CUDA side that copies do not carry on.
        tidy: what copies have instead of what the names alone give.
        exclusives: items that cannot stand beside their copies.
        directory: where the rest of what is particular to it lies, if anywhere.
    """

    name: str
    crate: str
    first_version: str
    error_without_feature: str
    words: Mapping[str, str]
    dependencies: Mapping[str, str]
    keep: tuple[Keep, ...]
    conditions: tuple[Condition, ...]
    overrides: tuple[Override, ...]
    prose: tuple[Prose, ...]
    kernels: KernelsCrate | None
    templates: Mapping[str, str]
    arms: tuple[Arms, ...] = ()
    sections: tuple[Section, ...] = ()
    unported: Mapping[str, str] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    repairs: tuple[Repair, ...] = ()
    tidy: tuple[Tidy, ...] = ()
    hip_sources: tuple[HipSources, ...] = ()
    exclusives: tuple[Exclusive, ...] = ()
    bindings: str = ""
    generator: str = ""
    variables: str = ""
    directory: Directory | None = None

    def kept(self, path: str) -> Keep | None:
        """Return the entry that keeps a file, if any."""
        return next((k for k in self.keep if fnmatchcase(path, k.path)), None)


def load_vendor(name: str, codebase: CodebaseProfile | None = None) -> VendorProfile:
    """Load a vendor profile, with the names that a codebase adds.

    Raises:
        ProfileError: there is no such profile, or it is malformed.
    """
    data = vendor_directory(name).table(VENDOR)
    try:
        bindings = codebase.bindings if codebase else _joined("hip")
        facade = Facade(bindings, **data["facade"])
        generator = Generator(
            codebase.generator if codebase else _joined("ug-rocm"), data["generator"]["source"]
        )
        words = {
            **data["names"]["words"],
            data["bindings"]: facade.module,
            _module(generator.source): generator.module,
        }
        dependencies = dict(data["dependencies"])
        if codebase:
            words |= codebase.words
            dependencies |= codebase.dependencies
        return VendorProfile(
            name=data["name"],
            source=data["source"],
            variant=data["variant"],
            peers=tuple(data["peers"]),
            vocabulary=tuple(data["vocabulary"]["source"]),
            peer_vocabulary=tuple(data["vocabulary"]["peers"]),
            own_vocabulary=tuple(data["vocabulary"]["own"]),
            names=NameTable(
                words=words,
                parts=tuple((old, new) for old, new in data["names"]["parts"]),
                prose=data["names"]["prose"],
                kept_strings=data["names"]["kept_strings"],
                binary=tuple(data["names"]["binary"]),
            ),
            parameters=data["names"]["parameters"],
            unported={**data["unported"], **(codebase.unported if codebase else {})},
            dependencies=dependencies,
            facade=facade,
            generator=generator,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"the vendor profile {name!r} is malformed: {error!r}") from None


def load_codebase(directory: Directory) -> CodebaseProfile:
    """Load the profile in the directory of a codebase.

    Raises:
        ProfileError: there is none, or it is malformed.
    """
    return parse_codebase(directory.table(MAIN), directory)


def parse_codebase(data: Mapping[str, Any], directory: Directory | None = None) -> CodebaseProfile:
    """Return the codebase profile that a parsed TOML file holds.

    Args:
        data: the file.
        directory: where the rest of what is particular to the codebase lies.

    Raises:
        ProfileError: it is malformed.
    """
    try:
        name = data["name"]
        kernels = None
        words = dict(data.get("names", {}).get("words", {}))
        dependencies = dict(data.get("dependencies", {}))
        if "kernels" in data:
            kernels = KernelsCrate(**{"name": _joined(name, "rocm-kernels"), **data["kernels"]})
            words.setdefault(_module(kernels.source), _module(kernels.name))
            dependencies.setdefault(kernels.source, "kernels")
        return CodebaseProfile(
            name=name,
            crate=data["crate"],
            first_version=data["first_version"],
            error_without_feature=data.get("error_without_feature", ""),
            words=words,
            dependencies=dependencies,
            keep=tuple(Keep(**k) for k in data.get("keep", ())),
            conditions=tuple(Condition(**{"path": "", **c}) for c in data.get("condition", ())),
            overrides=tuple(Override(**o) for o in data.get("override", ())),
            prose=tuple(Prose(**p) for p in data.get("prose", ())),
            kernels=kernels,
            bindings=data.get("bindings", _joined(name, "hip")),
            generator=data.get("generator", _joined(name, "ug-rocm")),
            variables=data.get("variables", _joined(name, "rocm").upper().replace("-", "_")),
            templates=data.get("templates", {}),
            arms=tuple(Arms(**a) for a in data.get("arms", ())),
            sections=tuple(Section(**s) for s in data.get("section", ())),
            unported=data.get("unported", {}),
            guards=tuple(Guard(**g) for g in data.get("guard", ())),
            repairs=tuple(Repair(**r) for r in data.get("repair", ())),
            tidy=tuple(Tidy(**t) for t in data.get("tidy", ())),
            hip_sources=tuple(HipSources(**h) for h in data.get("hip_sources", ())),
            exclusives=tuple(Exclusive(**e) for e in data.get("exclusive", ())),
            directory=directory,
        )
    except (KeyError, TypeError, ValueError) as error:
        name = data.get("name", "")
        raise ProfileError(f"the codebase profile {name!r} is malformed: {error!r}") from None


def _joined(*parts: str) -> str:
    """Return a crate's name from the name of the codebase, which may be empty, and an ending."""
    return "-".join(filter(None, parts))


def _module(crate: str) -> str:
    """Return the name under which Rust code imports a crate."""
    return crate.replace("-", "_")
