"""Profiles: all that is particular to a vendor or to one codebase, as data.

A *vendor* profile says what CUDA's names become on another vendor's platform, for any codebase. A
*codebase* profile holds what is particular to one codebase. Each is the main file of a directory
(``portkit.codebases.directory``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import convert

from portkit.codebases.directory import TEMPLATES, vendor_directory
from portkit.codebases.known import MAIN
from portkit.errors import ProfileError
from portkit.lang.renaming import NameTable
from portkit.lang.typed import nearest
from portkit.profile.entries import CodebaseFile, Prose
from portkit.profile.vendor_file import VendorFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.codebases.directory import Directory
    from portkit.lang.typed import Key
    from portkit.profile.entries import (
        Condition,
        Entry,
        HipSources,
        Keep,
        KernelsCrate,
        Patch,
    )
    from portkit.profile.vendor_file import Facade

Kind = TypeVar("Kind")

VENDOR: Final = "vendor.toml"
"""The main file of a vendor's directory."""


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

    @property
    def title(self) -> str:
        """The vendor's platform as prose writes it, such as ``ROCm``."""
        return self.names.prose.get(self.source.upper(), self.variant)


@dataclass(frozen=True)
class CodebaseProfile:
    """What is particular to one codebase.

    Attributes:
        name: the codebase.
        crate: the crate whose presence says that a workspace is this codebase.
        first_version: the first version that can be ported.
        error_without_feature: the variant of its error that says that the vendor's feature is off.
        words: its own identifiers.
        dependencies: its own crates and their counterparts.
        keep: files that are left alone.
        conditions: decisions about conditions, the first that applies counts.
        patches: changes to single places.
        kernels: its kernels, where it has any.
        hip_sources: folders of other kernels.
        templates: files to add: path in the tree to template.
        unported: its own features without a counterpart, with the reason.
        directory: where the rest of what is particular to it lies, if anywhere.
        versions: its words and its unported features as the file has them.
    """

    name: str
    crate: str
    first_version: str
    error_without_feature: str
    words: Mapping[str, str]
    dependencies: Mapping[str, str]
    keep: tuple[Keep, ...]
    conditions: tuple[Condition, ...]
    patches: tuple[Patch, ...]
    kernels: KernelsCrate | None
    templates: Mapping[str, str]
    unported: Mapping[str, str]
    hip_sources: tuple[HipSources, ...]
    directory: Directory | None = None
    versions: Mapping[Key, str | Entry] = field(default_factory=dict)

    def of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the patches of a kind."""
        return tuple(patch for patch in self.patches if isinstance(patch, kind))

    def key(self, entry: Entry) -> str:
        """Return what findings name an entry by, such as ``patch 3``; it counts from 0."""
        kinds = {"keep": self.keep, "condition": self.conditions, "patch": self.patches}
        return next(
            f"{kind} {number}"
            for kind, entries in kinds.items()
            for number, each in enumerate(entries)
            if each is entry
        )

    def kept(self, path: str) -> Keep | None:
        """Return the entry that keeps a file, if any."""
        return next((k for k in self.keep if fnmatchcase(path, k.path)), None)


def load_vendor(name: str, codebase: CodebaseProfile | None = None) -> VendorProfile:
    """Load a vendor profile, with the names that a codebase adds.

    Raises:
        ProfileError: there is no such profile, or it is malformed.
    """
    said = vendor_directory(name).typed(VENDOR, VendorFile)
    names = said.names
    return VendorProfile(
        name=said.name,
        source=said.source,
        variant=said.variant,
        peers=said.peers,
        vocabulary=said.vocabulary.source,
        peer_vocabulary=said.vocabulary.peers,
        own_vocabulary=said.vocabulary.own,
        names=NameTable(
            words={
                **names.words,
                said.bindings: said.facade.module,
                **(codebase.words if codebase else {}),
            },
            parts=names.parts,
            prose=names.prose,
            kept_strings=names.kept_strings,
        ),
        parameters=names.parameters,
        unported={**said.unported, **(codebase.unported if codebase else {})},
        dependencies={**said.dependencies, **(codebase.dependencies if codebase else {})},
        facade=said.facade,
    )


def load_codebase(directory: Directory) -> CodebaseProfile:
    """Load the profile in the directory of a codebase.

    Raises:
        ProfileError: there is none, or it is malformed.
    """
    said = directory.typed(MAIN, CodebaseFile)
    _check_templates(said, directory)
    return codebase_of(said, directory)


def codebase_of(said: CodebaseFile, directory: Directory | None = None) -> CodebaseProfile:
    """Return the codebase profile that a file holds.

    Args:
        said: the file.
        directory: where the rest of what is particular to the codebase lies.
    """
    return CodebaseProfile(
        name=said.name,
        crate=said.crate,
        first_version=said.first_version,
        error_without_feature=said.error_without_feature,
        words={k: w if isinstance(w, str) else w.to for k, w in said.names.words.items()},
        dependencies=said.dependencies,
        keep=said.keep,
        conditions=said.condition,
        patches=said.patch,
        kernels=said.kernels,
        templates=said.templates,
        unported={k: u if isinstance(u, str) else u.reason for k, u in said.unported.items()},
        hip_sources=said.hip_sources,
        directory=directory,
        versions={
            **{("names", "words", k): w for k, w in said.names.words.items()},
            **{("unported", k): u for k, u in said.unported.items()},
        },
    )


def parse_codebase(data: Mapping[str, Any], directory: Directory | None = None) -> CodebaseProfile:
    """Return the codebase profile that a parsed TOML file holds.

    Args:
        data: the file.
        directory: where the rest of what is particular to the codebase lies.

    Raises:
        msgspec.ValidationError: it is malformed.
    """
    return codebase_of(convert(data, CodebaseFile), directory)


def _is_there(directory: Directory, template: str, key: Key) -> bool:
    try:
        return directory.has(f"{TEMPLATES}/{template}")
    except ProfileError as error:
        raise directory.fault(MAIN, key, str(error)) from None


def _check_templates(said: CodebaseFile, directory: Directory) -> None:
    """Refuse a profile that names a template which is not there.

    Raises:
        ProfileError: with the line and the nearest name.
    """
    named: list[tuple[Key, str]] = [
        (("patch", number, "template"), patch.template)
        for number, patch in enumerate(said.patch)
        if not isinstance(patch, Prose) and patch.template
    ]
    named += ((("templates", path), template) for path, template in said.templates.items())
    known = directory.files(TEMPLATES)
    for key, template in named:
        if template not in known and not _is_there(directory, template, key):
            raise directory.fault(
                MAIN,
                key,
                f"there is no template {template!r} in {directory.root / TEMPLATES}"
                f"{nearest(template, known)}",
            )
