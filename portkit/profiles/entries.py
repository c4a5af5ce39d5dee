"""What a codebase's profile may hold, entry by entry, as types.

A type is at once what is read (`portkit.syntax.typed_toml`), what the schema for editors is made of
(`tools.pages.schemas`) and what the rules are given. An entry that does nothing in a tree is
reported, unless its ``since`` and ``until`` say that it has nothing to do in the tree's version.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta, Struct, field

from portkit.syntax.features import is_feature_name
from portkit.syntax.regex import compile_regex
from portkit.syntax.semver import version_precedence
from portkit.syntax.token_patterns import TokenPattern
from portkit.syntax.typed_toml import InvalidValueError


def describe(description: str, **more: Any) -> Meta:
    """Return the description of a key, for the schema that editors read."""
    return Meta(description=description, **more)


_SOME: Final[dict[str, Any]] = {"pattern": r"\S", "title": "a text with something in it"}

Text = Annotated[str, Meta(**_SOME)]
Version = Annotated[
    str, Meta(pattern=r"^(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)?$", title="a version as 0.11.1")
]
FullVersion = Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$", title="a version as 0.11.1")]
Reason = Annotated[str, describe("Why, for the reader of the report.", **_SOME)]
Paths = Annotated[
    str,
    describe("A pattern over paths relative to the root; * stands for any characters.", **_SOME),
]
Symbol = Annotated[str, describe("A pattern over items, such as CudaDevice::compile.", **_SOME)]
Template = Annotated[str, describe("A file among the templates.", **_SOME)]
Page = Annotated[
    str,
    describe(
        "The page about a defect of the codebase, without its ending.",
        pattern=r"^([a-z0-9]+(-[a-z0-9]+)*)?$",
        title="a name as conv-kernel-layout",
    ),
]


def parse_release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; a pre-release counts as its release.

    It has the code of what it leads to, such as calls of the libraries that the release is written
    against.
    """
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0, 0)


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One entry of a profile."""

    since: Annotated[
        Version, describe("The first version in which the entry has something to do.")
    ] = ""
    until: Annotated[
        Version, describe("The first version in which it has nothing to do any more.")
    ] = ""

    published: Annotated[
        bool,
        describe(
            "Whether every published version has what it names; what the repository alone "
            "has may be missing from a tree."
        ),
    ] = True

    def applies_to_version(self, version: str) -> bool:
        """Whether the entry has something to do in a version; one that is not known has all."""
        now = version_precedence(version)
        since, until = version_precedence(self.since), version_precedence(self.until)
        return now is None or ((since is None or now >= since) and (until is None or now < until))

    def __post_init__(self) -> None:
        since, until = version_precedence(self.since), version_precedence(self.until)
        if since is not None and until is not None and since >= until:
            raise InvalidValueError(f"until {self.until} is not after since {self.since}", "until")


class Keep(Entry, frozen=True, kw_only=True):
    """Files that are left alone on purpose."""

    path: Paths
    reason: Reason


class NoFeatureFiles(Entry, frozen=True, kw_only=True):
    """Files in which what stands under the source's feature has no counterpart.

    They launch kernels of the codebase's own that are not ported, say. There the written vendor
    takes the path of a build without the source's feature; its devices are told apart all the same.
    """

    path: Paths
    reason: Reason
    besides: Annotated[
        tuple[Paths, ...], describe("Those of these files that are ported as any other.")
    ] = ()

    def holds(self, path: str) -> bool:
        """Whether a file is one of them."""
        return fnmatchcase(path, self.path) and not any(
            fnmatchcase(path, each) for each in self.besides
        )


class Condition(Entry, frozen=True, kw_only=True):
    """A decision about conditions on the device."""

    when: Annotated[
        str,
        describe(
            "A regular expression (RE2) that is looked for in the whole condition's text.",
            **_SOME,
            extra_json_schema={"format": "regex"},
        ),
    ]
    verdict: Annotated[
        Literal["widen", "keep", "peer", "join"],
        describe(
            "widen: it holds for ROCm too; keep: it is left alone; peer: a condition on a "
            "peer, which is left alone; join: one on a peer that holds for ROCm too."
        ),
    ]
    reason: Reason
    path: Annotated[Paths, describe("A pattern over paths; any by default.")] = "*"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._when

    @cached_property
    def _when(self) -> Any:
        return compile_regex(self.when, "when")

    def is_in(self, path: str) -> bool:
        """Whether the decision is about constructs in this file."""
        return fnmatchcase(path, self.path)

    def fits(self, text: str) -> bool:
        """Whether the decision is about a construct with this text."""
        return self._when.search(text) is not None


class PatchEntry(Entry, frozen=True, kw_only=True):
    """What every patch says."""

    path: Paths
    reason: Reason

    # What tells its place in the file.
    place: ClassVar[tuple[str, ...]] = ("symbol",)

    def replaces(self, other: PatchEntry) -> bool:
        """Whether it is about the place of another, which may have its turn in other versions."""
        if type(self) is not type(other):
            return False
        return all(getattr(self, k) == getattr(other, k) for k in ("path", *self.place))


class ItemOverride(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK104"):
    """An item whose copy is a template, since the two platforms' libraries differ."""

    symbol: Symbol
    template: Template
    fingerprints: Annotated[
        dict[str, Annotated[str, Meta(pattern="^[0-9a-f]{16}$", title="a fingerprint")]],
        describe(
            "The hash of the CUDA item in each version that the template was written against."
        ),
    ] = {}


class TokenPatch(PatchEntry, frozen=True, kw_only=True, tag_field="code"):
    """Tokens of the CUDA side for which the copy has something else."""

    place: ClassVar[tuple[str, ...]] = ("symbol", "match")

    match: Annotated[
        str,
        describe("Tokens of the CUDA side; $name stands for those up to the next one.", **_SOME),
    ]
    symbol: Symbol = "*"
    write: Annotated[str, describe("What stands there in the copy, at most a line.")] = ""
    template: Annotated[
        str, describe("A file among the templates, for what is longer than a line.")
    ] = ""
    count: Annotated[int, describe("How often they stand in each item.", ge=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.write) == bool(self.template):
            raise InvalidValueError("there is write and template, or neither: give one of them")
        if sum(line.strip() not in ("", "$all") for line in self.write.split("\n")) > 1:
            raise InvalidValueError("write has more than a line: make it a template", "write")
        _ = self.pattern

    @cached_property
    def pattern(self) -> TokenPattern:
        """The tokens to find."""
        return TokenPattern.of(self.match)


class CopyRepair(TokenPatch, frozen=True, kw_only=True, tag="PK107"):
    """A bug of the CUDA side that the copy does not carry on.

    Attributes:
        write: in the words of the CUDA side, as ``template`` is: the copy has it under the name
            table.
    """

    source: Annotated[
        str,
        describe(
            "What stands on the CUDA side once it is repaired, where that is not what the copy has."
        ),
    ] = ""
    page: Page = ""


class CopyPatch(TokenPatch, frozen=True, kw_only=True, tag="PK108"):
    """What the copy has that the name table does not give.

    That is a form that lints object to and that upstream's own do not see where they run without
    the source vendor's feature, or what the vendor's side can do beyond the source's.
    """


class Section(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK105"):
    """A section of a page of documentation."""

    place: ClassVar[tuple[str, ...]] = ("before",)

    before: Text
    heading: Text
    template: Template


class Guard(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK106"):
    """A statement at the beginning of a function that is not ported."""

    symbol: Symbol
    template: Template
    lacking: Annotated[
        dict[Text, Text],
        describe("What stands for a parameter that the function lacks, by its name."),
    ] = field(default_factory=dict)
    calls: Annotated[
        str, describe("A file among the templates: items that the statement calls.")
    ] = ""


class ExtraArms(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK304"):
    """Arms of a ``match`` that no arm of the source vendor gives."""

    symbol: Symbol
    template: Template


class ProsePatch(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK701"):
    """A change to a comment or a message of the tree."""

    place: ClassVar[tuple[str, ...]] = ("find",)

    find: Text
    write: Text
    path: Annotated[Paths, describe("A pattern over paths; any by default.")] = "*"


class TextPatch(PatchEntry, frozen=True, kw_only=True, tag_field="code", tag="PK109"):
    """A text of the tree that the port writes in another way.

    Attributes:
        path: a pattern over paths; files that are kept are looked at too.
    """

    place: ClassVar[tuple[str, ...]] = ("find",)

    find: Text
    write: Annotated[
        Text,
        describe(
            "What stands there afterwards; $all for the text, $version for the version of "
            "the workspace."
        ),
    ]


Patch = ItemOverride | Section | Guard | CopyRepair | CopyPatch | TextPatch | ExtraArms | ProsePatch
"""A change to one place: what stands there, what is written, under which code, and why."""


class FeatureConflict(Entry, frozen=True, kw_only=True):
    """Items under the source vendor's feature that cannot stand beside their copies."""

    path: Paths
    symbol: Symbol
    reason: Reason

    def applies(self, path: str, symbol: str) -> bool:
        """Whether this is about a symbol of a file."""
        return fnmatchcase(symbol, self.symbol) and fnmatchcase(path, self.path)


KernelsForm = Literal["translated", "shared"]


class KernelsCrate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The crate of kernels."""

    source: Text
    name: str = ""  # The crate that the port writes; empty for one made from the codebase's name.
    # Whether it has translations of the CUDA sources, or has those compiled as they stand.
    form: KernelsForm = "translated"


class HipSources(Entry, frozen=True, kw_only=True):
    """A folder of CUDA sources whose translations lie beside them."""

    # The CUDA source that says that the folder is there, or a pattern over such sources, whose
    # folder is what stands before the first ``*``, up to a ``/``.
    source: Text
    reason: Reason
    # Where the prelude's headers are: beside the translations, or in the crate of kernels, whose
    # ``src`` the build names to the compiler.
    prelude: Literal["beside", "kernels"] = "beside"

    @property
    def folder(self) -> str:
        """The folder whose CUDA sources are translated, and those below it."""
        return self.source.partition("*")[0].rpartition("/")[0]

    def found(self, paths: Collection[str]) -> str:
        """Return the first CUDA source that it names, or an empty string."""
        if "*" not in self.source:
            return self.source if self.source in paths else ""
        return min((path for path in paths if fnmatchcase(path, self.source)), default="")

    def holds(self, path: str) -> bool:
        """Whether a file is in the folder, or below it."""
        return path.startswith(f"{self.folder}/")


class Renamed(Entry, frozen=True, kw_only=True):
    """An identifier of the codebase's own that not every version has."""

    to: Text


class Unported(Entry, frozen=True, kw_only=True):
    """An entry for some versions only: a feature without a counterpart, or a name that stays."""

    reason: Reason


class Added(Entry, frozen=True, kw_only=True):
    """A file to add that not every version has a place for."""

    template: Template


class Fact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a file of the tree holds a text: templates name it as ``facts.NAME``."""

    path: Annotated[Text, describe("A file of the tree, relative to the root.")]
    holds: Annotated[str, describe("A text; empty for a file that has to exist.")] = ""
    missing: Annotated[bool, describe("The answer where there is no such file.")] = False


Identifier = Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$", title="an identifier")]
_LONGEST_PART = 255
_LONGEST_PATH = 1024  # How many bytes a file system takes of a name, and a person of a path.


class Host(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an operation of a user's is computed on the host.

    Its method is called as a device's is, by the host's name, and so is the host's storage.
    """

    name: Annotated[Identifier, describe("What the host is called in the names of methods.")]
    storage: Annotated[Identifier, describe("The type of what an operation is given there.")]
    download: Annotated[
        Identifier, describe("The method of a device's storage that copies it to the host.")
    ]
    upload: Annotated[
        Identifier, describe("The method of a device that copies a storage of the host's to it.")
    ]
    traits: Annotated[
        Text, describe("What has these methods: a path within the crate that has the storage.")
    ]


class Words(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of the codebase's own."""

    words: Annotated[
        dict[str, Text | Renamed], describe("Identifiers of its own, and what they become.")
    ] = {}
    kept: Annotated[
        dict[str, Reason | Unported],
        describe(
            "Identifiers of its own that name CUDA's platform and stay as they are, with "
            "the reason: every backend uses them."
        ),
    ] = {}


class CodebaseFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is particular to one codebase."""

    name: Annotated[Text, describe("The codebase.")]
    crate: Annotated[
        Text, describe("The crate whose presence says that a workspace is this codebase.")
    ]
    first_version: Annotated[Version, describe("The first version that can be ported.")]
    error_without_feature: Annotated[
        str, describe("The variant of its error that says that the vendor's feature is off.")
    ] = ""
    uses: Annotated[
        tuple[Text, ...],
        describe(
            "Other codebases that it is built on, whose port its own takes: their crates "
            "have the feature that the port writes."
        ),
    ] = ()
    bindings: Annotated[
        str, describe("The crate of bindings that the port writes; NAME-hip by default.")
    ] = ""
    feature: Annotated[
        str, describe("The Cargo feature that the port writes; rocm by default.")
    ] = ""
    source_feature: Annotated[
        str, describe("The Cargo feature of the CUDA backend; cuda by default.")
    ] = ""
    source_bindings: Annotated[
        dict[FullVersion, FullVersion],
        describe(
            "The version of cudarc that its crates ask for, by the version of its own from "
            "which on they do, where they hand cudarc out to what is built on them."
        ),
    ] = {}
    generator: Annotated[
        str,
        describe(
            "The crate that writes HIP sources at run time, where the port needs it; NAME-"
            "ug-rocm by default."
        ),
    ] = ""
    variables: Annotated[
        str,
        describe(
            "How the names of the environment variables begin that the port reads; "
            "NAME_ROCM by default."
        ),
    ] = ""
    names: Words = Words()
    dependencies: Annotated[
        dict[str, str],
        describe(
            "Its own crates and their counterparts: facade and kernels are the crates that "
            "the port writes, shared is what every backend may use, an empty text drops the"
            " entry."
        ),
    ] = {}
    unported: Annotated[
        dict[str, Reason | Unported],
        describe("Its own features without a counterpart, with the reason."),
    ] = {}
    host: Host | None = None
    kernels: KernelsCrate | None = None
    hip_sources: tuple[HipSources, ...] = ()
    exclusive: tuple[FeatureConflict, ...] = ()
    keep: tuple[Keep, ...] = ()
    plain: tuple[NoFeatureFiles, ...] = ()
    condition: tuple[Condition, ...] = ()
    patch: tuple[Patch, ...] = ()
    facts: Annotated[
        dict[Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$", title="a name")], Fact],
        describe("Whether files of the tree hold texts: templates name it facts.NAME."),
    ] = {}
    templates: Annotated[
        dict[str, Template | Added], describe("Files to add: path in the tree to template.")
    ] = {}

    def __post_init__(self) -> None:
        for key in ("feature", "source_feature"):
            name = getattr(self, key)
            if name and not is_feature_name(name):
                raise InvalidValueError(
                    f"{name!r} is no name that Cargo takes for a feature: it begins with a letter,"
                    " a digit or _, and goes on with these, -, + and .",
                    key,
                )
        for path in self.templates:
            parts = path.encode().split(b"/")
            if len(path) > _LONGEST_PATH or max(map(len, parts)) > _LONGEST_PART:
                raise InvalidValueError(
                    f"the path {path[:50]!r} is too long for a file: shorten it"
                )
