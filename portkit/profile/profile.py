"""Profiles: all that is particular to a vendor or to one codebase, as data.

A *vendor* profile says what CUDA's names become on another vendor's platform, for any codebase. A
*codebase* profile holds what is particular to one codebase. Both are TOML files below
``portkit/profiles``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import convert

from portkit.errors import ProfileError
from portkit.lang.renaming import NameTable
from portkit.lang.typed import decode
from portkit.profile.entries import CodebaseFile
from portkit.profile.vendor_file import VendorFile

if TYPE_CHECKING:
    from collections.abc import Mapping

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

PROFILES = Path(__file__).parents[1] / "profiles"


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
    said = decode(*_read(PROFILES / "vendors" / f"{name}.toml", "vendor"), VendorFile)
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


def load_codebase(name: str, root: Path | None = None) -> CodebaseProfile:
    """Load a codebase profile.

    Args:
        name: of a profile that portkit brings, or a file, relative to ``root``.
        root: where a file is looked for; none where only portkit's own are.

    Raises:
        ProfileError: there is no such profile, or it is malformed.
    """
    if root is not None and name not in codebase_names():
        return codebase_of(decode(*_read(root / name, "codebase"), CodebaseFile))
    path = PROFILES / "codebases" / f"{name}.toml"
    return codebase_of(decode(*_read(path, "codebase"), CodebaseFile))


def codebase_of(said: CodebaseFile) -> CodebaseProfile:
    """Return the codebase profile that a file holds."""
    return CodebaseProfile(
        name=said.name,
        crate=said.crate,
        first_version=said.first_version,
        error_without_feature=said.error_without_feature,
        words=said.names.words,
        dependencies=said.dependencies,
        keep=said.keep,
        conditions=said.condition,
        patches=said.patch,
        kernels=said.kernels,
        templates=said.templates,
        unported=said.unported,
        hip_sources=said.hip_sources,
    )


def parse_codebase(data: Mapping[str, Any]) -> CodebaseProfile:
    """Return the codebase profile that a parsed TOML file holds.

    Raises:
        msgspec.ValidationError: it is malformed.
    """
    return codebase_of(convert(data, CodebaseFile))


def codebase_names() -> tuple[str, ...]:
    """Return the names of the codebase profiles that portkit brings, sorted."""
    return tuple(sorted(p.stem for p in (PROFILES / "codebases").glob("*.toml")))


def _read(path: Path, kind: str) -> tuple[bytes, str]:
    try:
        return path.read_bytes(), str(path)
    except OSError:
        raise ProfileError(f"there is no {kind} profile {path.stem!r} ({path})") from None
