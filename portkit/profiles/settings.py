"""``portkit.toml``: what a codebase's maintainers have decided about its port.

The file lies beside the workspace's root manifest and is not part of what is scanned.
``config.schema.json``, made of the types here, describes it for editors. A key that is unknown, or
a value that cannot be, is an error that names the line: a decision that is silently not taken is
worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field, to_builtins

from portkit.errors import ConfigError
from portkit.profiles import accepted_findings
from portkit.profiles.entries import Condition, KernelsForm, Reason, Text, describe
from portkit.syntax.source_file import SourceFile
from portkit.syntax.typed_toml import InvalidValueError, KeyLines, decode_toml
from portkit.syntax.value import Value
from portkit.workspace.exclusion_comments import strip_exclusion_comments

NAME: Final = "portkit.toml"
Gating = Literal["dummy", "cfg"]
ARCH: Final = r"gfx([6-9][0-9a-f]{2}|1[0-3][0-9a-f]{2}|(9|1[0-3])(-[0-9])?-generic)"
"""What LLVM calls AMD's processors (https://llvm.org/docs/AMDGPUUsage.html#processors)."""
BINDINGS: Final = ("path", "git", "branch", "tag", "rev", "version")
"""Where a crate may come from, in the words of Cargo's dependencies."""

Arch = Annotated[str, Meta(pattern=f"^{ARCH}$", title="an architecture such as gfx1100")]
Code = Annotated[str, Meta(pattern="^P[KH][0-9]{0,3}$", title="a code, or how it begins: PK301")]


class ExcludeEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Findings that you exclude from the port, with your reason."""

    reason: Reason
    codes: Annotated[tuple[Code, ...] | None, describe("Codes, or how they begin.")] = None
    paths: Annotated[
        tuple[Text, ...] | None,
        describe("Patterns over paths relative to the root; * stands for any characters."),
    ] = None
    symbols: Annotated[
        tuple[Text, ...] | None,
        describe("Items, as reports name them; they go with codes or paths."),
    ] = None

    def __post_init__(self) -> None:
        for name in ("codes", "paths", "symbols"):
            if getattr(self, name) == ():
                raise InvalidValueError(
                    f"{name} is an empty list: name something, or take it away", name
                )
        if self.codes is None and self.paths is None:
            raise InvalidValueError(
                "this [[exclude]] names neither codes nor paths: write which findings it excludes"
            )


class DependencySource(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Where the tree takes a crate from, as Cargo's dependencies say it."""

    path: Annotated[Text, describe("A folder, relative to the root.")] | None = None
    git: Text | None = None
    branch: Text | None = None
    tag: Text | None = None
    rev: Text | None = None
    version: Text | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.path, self.git, self.version)) != 1:
            raise InvalidValueError(
                "a crate comes from one place: write one of path, git and version"
            )
        if sum(each is not None for each in (self.branch, self.tag, self.rev)) > bool(self.git):
            raise InvalidValueError(
                "one of branch, tag and rev may stand beside git: leave out the others"
            )


class ConfigFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a codebase's maintainers have decided about its port."""

    profile: (
        Annotated[
            Text,
            describe(
                "The codebase: a name that portkit knows, or a directory of the tree that holds"
                " a codebase.toml. By default the one whose crate is in the workspace."
            ),
        ]
        | None
    ) = None
    gating: (
        Annotated[Gating, describe("What stands without the feature: a dummy backend, or nothing.")]
        | None
    ) = None
    archs: (
        Annotated[
            tuple[Arch, ...],
            describe("The architectures that kernels are compiled for.", min_length=1),
        ]
        | None
    ) = None
    kernels: (
        Annotated[
            KernelsForm,
            describe(
                "Whether the port holds translations of the CUDA kernels, or compiles the CUDA "
                "sources as they stand, with a patch for what AMD needs otherwise."
            ),
        ]
        | None
    ) = None
    bindings: Annotated[
        DependencySource | None,
        describe(
            "Where the tree takes the HIP bindings from. By default the port holds a copy of them."
        ),
    ] = None
    build: Annotated[
        DependencySource | None,
        describe(
            "Where the tree takes the crate from that compiles kernels, hiprc-build. By "
            "default the crate of kernels holds a copy of it."
        ),
    ] = None
    ci: (
        Annotated[
            bool,
            describe(
                "Whether the port brings a workflow of GitHub Actions for the feature. By "
                "default it does where the tree has workflows."
            ),
        ]
        | None
    ) = None
    exclude: Annotated[
        tuple[ExcludeEntry, ...],
        describe("Findings that you exclude from the port, each with your reason."),
    ] = ()
    skip: Annotated[
        tuple[ExcludeEntry, ...],
        describe(
            "The old spelling of exclude, which portkit still reads.",
            extra_json_schema={"deprecated": True},
        ),
    ] = ()
    decision: Annotated[
        tuple[Condition, ...],
        describe(
            "Decisions about conditions on the device; the first that applies counts, "
            "before the profile's."
        ),
    ] = ()


class Exclusion(Value, frozen=True):
    """Findings that a user excludes from the port."""

    codes: tuple[str, ...]
    paths: tuple[str, ...]  # Patterns over paths relative to the root; empty for any.
    reason: str
    line: int
    symbols: tuple[str, ...] = ()

    def applies(self, code: str, path: str, symbol: str) -> bool:
        """Whether a place is one of them."""
        return (
            (not self.codes or code.startswith(self.codes))
            and (not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths))
            and (not self.symbols or symbol in self.symbols)
        )


class Settings(Value, frozen=True):
    """The settings in ``portkit.toml``, with their defaults."""

    # The codebase profile: a name that portkit knows, or a file relative to the root.
    profile: str = ""
    gating: str = ""
    # The architectures that kernels are compiled for, such as ``gfx1100``.
    archs: tuple[str, ...] = ()
    skips: tuple[Exclusion, ...] = ()
    # About conditions on the device; they count before the profile's.
    decisions: tuple[Condition, ...] = ()
    profile_line: int = 0
    condition_lines: tuple[int, ...] = ()
    # Where the tree takes the HIP bindings from; a copy in the tree where empty.
    bindings: Mapping[str, str] = field(default_factory=dict)
    bindings_line: int = 0
    build: Mapping[str, str] = field(default_factory=dict)
    build_line: int = 0
    kernels: str = ""
    kernels_line: int = 0
    ci: bool | None = None


def is_decision_change(path: str, before: bytes, after: bytes) -> bool:
    """Whether a change is a decision of the user: a settings file, or comments that exclude."""
    if path in (NAME, accepted_findings.NAME):
        return True
    return bool(before) and strip_exclusion_comments(before) == strip_exclusion_comments(after)


def parse_settings(source: SourceFile | None) -> Settings:
    """Return the settings in a file, or the default ones without a file."""
    if source is None:
        return Settings()
    said = decode_toml(source.data, NAME, ConfigFile, ConfigError)
    lines = KeyLines(source.data)
    return Settings(
        profile=said.profile or "",
        gating=said.gating or "",
        archs=said.archs or (),
        skips=_excluded(said, lines),
        decisions=said.decision,
        profile_line=lines.of(("profile",)) if said.profile else 0,
        bindings=to_builtins(said.bindings) if said.bindings else {},
        bindings_line=lines.of(("bindings",)) if said.bindings else 0,
        build=to_builtins(said.build) if said.build else {},
        build_line=lines.of(("build",)) if said.build else 0,
        kernels=said.kernels or "",
        ci=said.ci,
        kernels_line=lines.of(("kernels",)) if said.kernels else 0,
        condition_lines=tuple(
            lines.of(("decision", number)) for number in range(len(said.decision))
        ),
    )


def _excluded(said: ConfigFile, lines: KeyLines) -> tuple[Exclusion, ...]:
    """Return the exclusions under both spellings, in the file's order.

    The old spelling stays, since portkit also reads the file of commits that nobody can change.
    """
    entries = {"exclude": said.exclude, "skip": said.skip}
    found = (
        Exclusion(e.codes or (), e.paths or (), e.reason, lines.of((name, number)), e.symbols or ())
        for name, each in entries.items()
        for number, e in enumerate(each)
    )
    return tuple(sorted(found, key=lambda skip: skip.line))


def read_settings(directory: Path) -> Settings:
    """Return the settings of the tree at a path."""
    data = accepted_findings.read_own_file(directory / NAME)
    return parse_settings(None if data is None else SourceFile(NAME, data))
