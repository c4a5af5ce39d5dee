"""The differences that are understood, ``crosscheck.toml`` of a codebase, and the judgement by it.

Each entry says of which operations, types and backends it speaks, how far it goes, whose the
difference is, and why. What no entry explains is a failure; an entry that explains nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from portkit.syntax.regex import Regex, compile_regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from portkit.codebases.directory import Directory
    from portkit.numerics.comparison import Difference, Part

CLASSES: Final = {
    "port": "the port is wrong, or leaves something out",
    "kernel": "a kernel's translation is wrong",
    "upstream": "the CUDA backend that the port copies does the same",
    "cpu": "the CPU backend is wrong, or leaves something out",
    "rounding": "both are right within what the type and the formula allow",
    "undefined": "nobody says what must come out",
}
"""Whose a difference is."""

FILE: Final = "crosscheck.toml"
"""In the directory of a codebase."""


_Text = Annotated[str, Meta(pattern=r"\S", title="a text with something in it")]
_Kind = Literal["port", "kernel", "upstream", "cpu", "rounding", "undefined"]
_Versions = Annotated[
    tuple[str, ...], Meta(description="Of which it speaks, by their beginnings; all by default.")
]


class KnownDifference(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """An entry for differences that are understood."""

    kind: Annotated[_Kind, Meta(description="Whose the difference is.")]
    reason: Annotated[_Text, Meta(description="Why, for a person.")]
    operation: Annotated[Regex, Meta(description="Fits all of the operation's name (RE2).")]
    elements: Annotated[Regex, Meta(description="Fits all of the types' names (RE2).")] = ".*"
    who: Annotated[Literal["device", "cpu", "both"], Meta(description="Who differs.")] = "device"
    differs: Annotated[Regex, Meta(description="Fits all of the kind of difference.")] = ".*"
    message: Annotated[Regex, Meta(description="Is found in what was found (RE2).")] = ""
    empty: Annotated[bool, Meta(description="For tensors without elements alone.")] = False
    edges: Annotated[bool, Meta(description="For values at the edges of a type alone.")] = False
    ulps: Annotated[
        float, Meta(description="The largest difference, in units of the last place.")
    ] = float("inf")
    versions: _Versions = ("",)

    @cached_property
    def _patterns(self) -> dict[str, Any]:
        names = ("operation", "elements", "differs", "message")
        return {name: compile_regex(getattr(self, name), name) for name in names}

    def __post_init__(self) -> None:
        _ = self._patterns

    def explains(self, difference: Difference, who: str, part: Part, version: str) -> bool:
        """Whether this is about how a backend differs."""
        return (
            self.who in (who, "both")
            and version.startswith(self.versions)
            and (difference.empty or not self.empty)
            and (difference.edges or not self.edges)
            and part.ulps <= self.ulps
            and self._patterns["operation"].fullmatch(difference.operation) is not None
            and self._patterns["elements"].fullmatch(difference.elements) is not None
            and self._patterns["differs"].fullmatch(part.kind) is not None
            and self._patterns["message"].search(part.message) is not None
        )


class UnlaunchedKernels(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """An entry for kernels that no operation launches."""

    kernels: Annotated[Regex, Meta(description="Fits all of a kernel's name (RE2).")]
    reason: Annotated[_Text, Meta(description="Why no operation launches them.")]
    versions: _Versions = ("",)

    def __post_init__(self) -> None:
        _ = self._kernels

    def covers_kernel(self, kernel: str) -> bool:
        """Whether this is about a kernel."""
        return self._kernels.fullmatch(kernel) is not None

    @cached_property
    def _kernels(self) -> Any:
        return compile_regex(self.kernels, "kernels")


class KnownTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Differences that are understood, and kernels that no operation launches."""

    differences: tuple[KnownDifference, ...] = field(default=(), name="difference")
    unlaunched: tuple[UnlaunchedKernels, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Differences and what explains them."""

    # each difference of one backend with its entry
    explained: tuple[tuple[Difference, str, KnownDifference], ...]
    unexplained: tuple[tuple[Difference, str], ...]  # the others
    idle: tuple[KnownDifference, ...]  # entries for this version that explain nothing


def judge_differences(
    differences: Iterable[Difference], table: KnownTable, version: str
) -> Judgement:
    """Return which entry explains which difference; the first one that does counts."""
    explained: list[tuple[Difference, str, KnownDifference]] = []
    unexplained: list[tuple[Difference, str]] = []
    for difference in differences:
        for who, part in (("device", difference.device), ("cpu", difference.cpu)):
            if part is None:
                continue
            for entry in table.differences:
                if entry.explains(difference, who, part, version):
                    explained.append((difference, who, entry))
                    break
            else:
                unexplained.append((difference, who))
    used = {id(entry) for _, _, entry in explained}
    idle = (
        entry
        for entry in table.differences
        if version.startswith(entry.versions) and id(entry) not in used
    )
    return Judgement(tuple(explained), tuple(unexplained), tuple(idle))


def find_idle_entries(runs: Sequence[Judgement]) -> tuple[KnownDifference, ...]:
    """Return the entries that explain nothing in any of several runs.

    Other seeds or more cases may still need one: it is to be told, and no failure.
    """
    first, *others = (each.idle for each in runs)
    return tuple(entry for entry in first if all(entry in other for other in others))


def find_reasons(kernels: Sequence[str], table: KnownTable, version: str) -> dict[str, str]:
    """Return why kernels are not launched, in their order; empty where no entry says so."""
    entries = [entry for entry in table.unlaunched if version.startswith(entry.versions)]
    return {
        kernel: next((entry.reason for entry in entries if entry.covers_kernel(kernel)), "")
        for kernel in kernels
    }


def load_table(directory: Directory, name: str = FILE) -> KnownTable:
    """Return the table of a file in a directory."""
    return directory.typed(name, KnownTable)
