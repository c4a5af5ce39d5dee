"""The differences that are understood, ``crosscheck.toml`` of a codebase, and the judgement by it.

Each entry says of which operations, types and backends it speaks, how far it goes, whose the
difference is, and why. What no entry explains is a failure; an entry that explains nothing is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from portkit.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from portkit.codebases.directory import Directory
    from portkit.crosscheck.comparison import Difference, Part

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


@dataclass(frozen=True)
class Known:
    """An entry for differences.

    Attributes:
        kind: one of ``CLASSES``.
        reason: why, for a person.
        operation: regular expression of all of the operation's name.
        elements: the same of its types.
        who: ``device``, ``cpu`` or ``both``: who differs.
        differs: regular expression of all of the kind of difference.
        message: one that is found in what was found.
        empty: whether the entry is for tensors without elements alone.
        edges: whether it is for values at the edges of a type alone.
        ulps: the largest difference of values, in units of the last place; any by default.
        versions: of which it speaks, by their beginnings; all by default.
    """

    kind: str
    reason: str
    operation: str
    elements: str = ".*"
    who: str = "device"
    differs: str = ".*"
    message: str = ""
    empty: bool = False
    edges: bool = False
    ulps: float = float("inf")
    versions: tuple[str, ...] = ("",)

    def explains(self, difference: Difference, who: str, part: Part, version: str) -> bool:
        """Whether this is about how a backend differs."""
        return (
            self.who in (who, "both")
            and version.startswith(self.versions)
            and (difference.empty or not self.empty)
            and (difference.edges or not self.edges)
            and part.ulps <= self.ulps
            and self._operation.fullmatch(difference.operation) is not None
            and self._elements.fullmatch(difference.elements) is not None
            and self._differs.fullmatch(part.kind) is not None
            and self._message.search(part.message) is not None
        )

    @cached_property
    def _operation(self) -> re.Pattern[str]:
        return re.compile(self.operation)

    @cached_property
    def _elements(self) -> re.Pattern[str]:
        return re.compile(self.elements)

    @cached_property
    def _differs(self) -> re.Pattern[str]:
        return re.compile(self.differs)

    @cached_property
    def _message(self) -> re.Pattern[str]:
        return re.compile(self.message)


@dataclass(frozen=True)
class Unlaunched:
    """An entry for kernels that no operation launches.

    Attributes:
        kernels: regular expression of all of a kernel's name.
        reason: why.
        versions: of which it speaks, by their beginnings; all by default.
    """

    kernels: str
    reason: str
    versions: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Table:
    """All entries."""

    differences: tuple[Known, ...]
    unlaunched: tuple[Unlaunched, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Differences and what explains them.

    Attributes:
        explained: each difference of one backend with its entry.
        unexplained: the others.
        idle: entries for this version that explain nothing.
    """

    explained: tuple[tuple[Difference, str, Known], ...]
    unexplained: tuple[tuple[Difference, str], ...]
    idle: tuple[Known, ...]


def judged(differences: Iterable[Difference], table: Table, version: str) -> Judged:
    """Return which entry explains which difference; the first one that does counts.

    Args:
        differences: that were found.
        table: what is understood.
        version: of the tree.
    """
    explained: list[tuple[Difference, str, Known]] = []
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
    return Judged(tuple(explained), tuple(unexplained), tuple(idle))


def idle(runs: Sequence[Judged]) -> tuple[Known, ...]:
    """Return the entries that explain nothing in any of several runs.

    Other seeds or more cases may still need one: it is to be told, and no failure.
    """
    first, *others = (each.idle for each in runs)
    return tuple(entry for entry in first if all(entry in other for other in others))


def reasons(kernels: Sequence[str], table: Table, version: str) -> dict[str, str]:
    """Return why kernels are not launched, in their order; empty where no entry says so."""
    entries = [
        (re.compile(entry.kernels), entry.reason)
        for entry in table.unlaunched
        if version.startswith(entry.versions)
    ]
    return {
        kernel: next((reason for names, reason in entries if names.fullmatch(kernel)), "")
        for kernel in kernels
    }


def load_table(directory: Directory, name: str = FILE) -> Table:
    """Return the table of a file in a directory.

    Raises:
        ProfileError: it is malformed.
    """
    data = directory.table(name)
    try:
        table = Table(
            tuple(_known(entry) for entry in data.get("difference", ())),
            tuple(
                Unlaunched(**{**entry, "versions": tuple(entry.get("versions", ("",)))})
                for entry in data.get("unlaunched", ())
            ),
        )
        for known in table.differences:
            for pattern in (known.operation, known.elements, known.differs, known.message):
                re.compile(pattern)
        for unlaunched in table.unlaunched:
            re.compile(unlaunched.kernels)
    except (TypeError, ValueError, re.error) as error:
        raise ProfileError(f"{directory.root / name} is malformed: {error}") from None
    return table


def _known(entry: dict[str, object]) -> Known:
    found = Known(**{**entry, "versions": tuple(entry.get("versions", ("",)))})  # type: ignore[arg-type]
    if found.kind not in CLASSES:
        raise ValueError(f"{found.kind!r} is no class: one of {', '.join(CLASSES)}")
    if found.who not in ("device", "cpu", "both"):
        raise ValueError(f"who is {found.who!r}: write device, cpu or both")
    if not found.reason:
        raise ValueError(f"the entry for {found.operation!r} has no reason")
    return found
