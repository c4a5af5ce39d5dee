"""What a vendor's profile may hold, as types."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from portkit.profiles.entries import Reason, Text, describe
from portkit.syntax.typed_toml import InvalidValueError


class FacadeEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The crate that has cudarc's shape under HIP's names."""

    package: Annotated[Text, describe("What it is called where it is published.")]
    older: Annotated[
        dict[str, Text],
        describe("By version, its module with the shape that the bindings had before."),
    ] = {}


class GeneratorEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The crate that writes HIP sources at run time, from the kernels of a compiler."""

    source: Annotated[Text, describe("The crate that writes CUDA sources, whose place it takes.")]
    oldest: Annotated[
        str,
        describe(
            "The first version of that crate whose kernels it reads.",
            pattern=r"^\d+(\.\d+)*$",
            title="a version such as 0.1",
        ),
    ]


class Vocabulary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words by which a mention of a backend is known, in lower case."""

    source: Annotated[tuple[Text, ...], describe("Of the source's platform.")]
    peers: Annotated[tuple[Text, ...], describe("Of the peers' platforms.")]
    own: Annotated[tuple[Text, ...], describe("Of the vendor's own platform.")]
    maker: Annotated[Text, describe("Who makes the GPUs of the source's platform.")]


class Names(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to rename."""

    kept_strings: Annotated[
        Text,
        describe(
            "A regular expression; a string that it fits wholly keeps its name.",
            extra_json_schema={"format": "regex"},
        ),
    ]
    binary: Annotated[
        tuple[Text, ...],
        describe("Endings of files that hold bytes, where the source's hold text."),
    ]
    binary_names: Annotated[
        str,
        describe(
            "A regular expression, letters in any case, of names for what they hold.",
            extra_json_schema={"format": "regex"},
        ),
    ] = ""
    sources: Annotated[
        dict[str, Text],
        describe("Endings of kernels' sources, as comments name them by themselves."),
    ] = {}
    parts: Annotated[
        tuple[tuple[Text, str], ...],
        describe("Pieces of identifiers and what they become, tried in this order."),
    ]
    words: Annotated[dict[str, Text], describe("Whole identifiers, the exceptions.")]
    older: Annotated[
        dict[str, dict[str, Text]],
        describe(
            "By version, whole identifiers that the source's bindings had before it, for a "
            "codebase that uses such bindings and defines no such name."
        ),
    ] = {}
    parameters: Annotated[dict[str, Text], describe("Parameters of functions whose type differs.")]
    prose: Annotated[dict[str, Text], describe("Whole words of comments and messages.")]
    pages: Annotated[
        dict[str, Text],
        describe("Web addresses in comments, and the vendor's page that says the same."),
    ] = {}

    def __post_init__(self) -> None:
        for key in ("kept_strings", "binary_names"):
            try:
                re.compile(getattr(self, key))
            except re.error as error:
                fault = f"{getattr(self, key)!r} is not a regular expression ({error})"
                raise InvalidValueError(fault, key) from None


class VendorFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What CUDA's names become on one vendor's platform."""

    name: Annotated[
        Text, describe("The vendor backend that is written; its Cargo feature, by default.")
    ]
    source: Annotated[Text, describe("The vendor backend that is read.")]
    variant: Annotated[Text, describe("The name of its enum variants.")]
    peers: Annotated[tuple[Text, ...], describe("Other vendor backends that codebases hold.")]
    bindings: Annotated[Text, describe("The crate whose place the facade takes.")]
    vocabulary: Vocabulary
    names: Names
    unported: Annotated[
        dict[str, Reason], describe("Features without a counterpart, with the reason.")
    ]
    libraries: Annotated[
        dict[str, Text],
        describe(
            "Features for a library of the source's, and the feature for its counterpart, "
            "which is also the module of the facade that binds it."
        ),
    ] = {}
    dependencies: Annotated[
        dict[str, str],
        describe(
            "Crates and their counterparts: facade and kernels are the crates that the port"
            " writes, an empty text drops the entry."
        ),
    ]
    programs: Annotated[
        dict[str, Reason],
        describe("Programs of the source's, and what does their part for the vendor."),
    ]
    methods: Annotated[
        dict[str, Reason],
        describe("Methods of the source's bindings that the facade has not, and why."),
    ] = {}
    facade: FacadeEntry
    generator: GeneratorEntry
    frameworks: Annotated[
        dict[str, Reason],
        describe("Modules of Python with the source's names for the vendor too, and why."),
    ] = {}
