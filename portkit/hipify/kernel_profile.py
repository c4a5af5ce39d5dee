"""Profiles of kernels: what is particular to one codebase's CUDA sources."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from portkit.hipify.errors import KernelProfileError
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.patch import Patch
from portkit.hipify.paths import BUILD_SCRIPT
from portkit.hipify.prelude import load_device_files
from portkit.syntax.token_patterns import check_pattern
from portkit.syntax.typed_toml import InvalidValueError
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.codebases.directory import Directory

FILE: Final = "kernels.toml"
"""In the directory of a codebase: what its CUDA sources need beyond the rules."""


_MODULE: Final = re.compile("[a-z][a-z0-9_]*")

_Text = Annotated[str, Meta(pattern=r"\S", title="a text with something in it")]
_Count = Annotated[int, Meta(ge=1)]


class PatchRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to the CUDA sources, or one for each word of ``each`` (`portkit.hipify.patch`)."""

    code: Annotated[
        str, Meta(pattern="^PH3[0-9]{2}$", title="a code as PH301", description="PH3nn.")
    ]
    files: Annotated[
        tuple[_Text, ...], Meta(min_length=1, description="Patterns over paths below the crate.")
    ]
    match: Annotated[_Text, Meta(description="Tokens; $name stands for those up to the next one.")]
    replace: Annotated[str, Meta(description="What is written; $all for the whole place.")]
    hits: Annotated[
        _Count | Annotated[tuple[_Count, ...], Meta(min_length=2)],
        Meta(
            description="How often the tokens stand in each matching file; several where versions"
            " differ."
        ),
    ]
    reason: _Text
    upstream_bug: Annotated[
        bool, Meta(description="Whether it mends a defect of the CUDA source.")
    ] = False
    with_comments: Annotated[
        bool, Meta(description="Whether the comments right before the place go with it.")
    ] = False
    beside: Annotated[
        str, Meta(description="A name that a file holds where it has what the patch changes.")
    ] = ""
    page: Annotated[
        str, Meta(description="The page about the defect of the CUDA source, without its ending.")
    ] = ""
    repair: Annotated[
        str,
        Meta(
            description="What stands in the CUDA source once it is repaired, where that is not what"
            " the port has."
        ),
    ] = ""
    each: Annotated[
        tuple[_Text, ...], Meta(description="Words for which % stands, one after the other.")
    ] = ()

    def __post_init__(self) -> None:
        if not self.upstream_bug and (self.page or self.repair):
            raise InvalidValueError(
                "it mends no defect of the CUDA source: write upstream_bug = true", "page"
            )
        for word in self.each or ("",):
            text = self.match.replace("%", word) if word else self.match
            check_pattern([token.text for token in KernelSource("", text).tokens])


class KernelsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is particular to one codebase's CUDA sources."""

    undefined: Annotated[
        tuple[_Text, ...], Meta(description="Macros that are undefined on AMD after the patches.")
    ] = ()
    defined: Annotated[
        tuple[_Text, ...], Meta(description="Macros that the build for AMD defines.")
    ] = ()
    expected: Annotated[
        dict[str, dict[str, int]],
        Meta(description="How many findings each code has, by version of the codebase."),
    ] = {}
    purpose: Annotated[
        dict[str, _Text], Meta(description="What the patches of one code are for.")
    ] = {}
    headers: Annotated[
        dict[str, _Text],
        Meta(description="Headers to add: path in the translated tree to file beside this one."),
    ] = {}
    modules: Annotated[
        dict[str, _Text],
        Meta(
            description="Modules to add: name to HIP source beside this file, or among those of the"
            " crate that compiles kernels, as hiprc-build/attention.hip."
        ),
    ] = {}
    patch: tuple[PatchRow, ...] = ()


class KernelProfile(Value, frozen=True):
    """What is particular to one codebase's CUDA sources."""

    name: str = ""  # the codebase; empty for sources of which nothing is known
    # macros that are undefined on AMD once the patches are in
    undefined: frozenset[str] = frozenset()
    patches: tuple[Patch, ...] = ()  # changes, in order of their code
    # headers that the profile adds: path in the translated tree to text
    headers: tuple[tuple[str, str], ...] = ()
    # modules of kernels that the profile adds to the crate: name to HIP source
    modules: tuple[tuple[str, str], ...] = ()
    # what the patches of each code are for
    purposes: Mapping[str, str] = field(default_factory=dict)
    # how often each rule and patch finds something, by version of the codebase
    expected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    defined: frozenset[str] = frozenset()  # macros that the build for AMD defines


NO_PROFILE = KernelProfile()
"""Nothing is known of the sources."""


@cache
def load_profile(directory: Directory, name: str) -> KernelProfile:
    """Return what is known of a codebase's CUDA sources; ``NO_PROFILE`` where nothing is.

    Raises:
        KernelProfileError: it is malformed.
        ProfileError: a header or a module leads out of the directory.
    """
    if not directory.has(FILE):
        return NO_PROFILE
    said = directory.typed(FILE, KernelsFile, KernelProfileError)
    patches = [patch for row in said.patch for patch in _expand_patches(row)]
    for number, row in enumerate(said.patch):
        if row.code not in said.purpose:
            fault = directory.fault(
                FILE, ("patch", number), f"[purpose] says nothing of {row.code}"
            )
            raise KernelProfileError(str(fault))
    for module in said.modules:
        if not _MODULE.fullmatch(module):
            # It becomes a file's name, a constant and a variant of Rust's.
            message = f"{module!r} is no name of a module: give it one as attention or own_kernels"
            raise KernelProfileError(str(directory.fault(FILE, ("modules",), message)))
    return KernelProfile(
        name=name,
        undefined=frozenset(said.undefined),
        patches=tuple(sorted(patches, key=lambda patch: patch.code)),
        headers=tuple((to, directory.text(file)) for to, file in sorted(said.headers.items())),
        modules=tuple(
            (n, _load_module(directory, n, file)) for n, file in sorted(said.modules.items())
        ),
        purposes={code: said.purpose[code] for code in sorted({p.code for p in patches})},
        expected=said.expected,
        defined=frozenset(said.defined),
    )


def _load_module(directory: Directory, module: str, file: str) -> str:
    """Return the HIP source of a module: the codebase's, or the crate's that compiles kernels."""
    folder, _, name = file.rpartition("/")
    if folder != BUILD_SCRIPT:
        return directory.text(file)
    if name not in load_device_files():
        message = (
            f"{BUILD_SCRIPT} has no {name}: name one of its sources, or a file beside this one"
        )
        raise KernelProfileError(str(directory.fault(FILE, ("modules", module), message)))
    return load_device_files()[name]


def _expand_patches(row: PatchRow) -> list[Patch]:
    """Return the patches of one row: one for each word of ``each``, which stands for ``%``."""
    fields = asdict(row)
    del fields["each"]
    fields["hits"] = (row.hits,) if isinstance(row.hits, int) else row.hits
    # The place has its own indentation and line end.
    fields |= {"replace": row.replace.strip(), "repair": row.repair.strip()}
    worded = ("match", "replace", "reason")
    return [
        Patch(**fields | {name: fields[name].replace("%", word) for name in worded})
        for word in row.each
    ] or [Patch(**fields)]
