"""What the program says: lines of JSON, one for each kind of difference of each operation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BACKENDS: Final = ("device", "cpu")
"""Who can differ from the reference."""


@dataclass(frozen=True, slots=True)
class Part:
    """How one backend differs from the reference."""

    # ``finite``, ``infinite`` and ``nan`` are values, ``shape`` a wrong shape or type, ``refused``
    # an error, ``panic`` a panic, ``crash`` the end of the process
    kind: str
    message: str = ""  # what was found
    ulps: float = 0.0  # how far off a value is, in units of the last place


@dataclass(frozen=True, slots=True)
class Difference:
    """Cases of an operation that differ alike."""

    operation: str  # such as ``matmul``
    elements: str  # the types that it is tried with, such as ``u32 f16``
    device: Part | None = None  # how the compared backend differs, if it does
    cpu: Part | None = None  # how the CPU backend does
    times: int = 1  # in how many cases
    case: str = ""  # the smallest one that was found, as ``crosscheck --case`` takes it
    empty: bool = False  # whether a tensor in it has no elements
    edges: bool = False  # whether values at the edges of a type are among the others
    inputs: tuple[str, ...] = ()  # types, shapes and layouts of its inputs
    arguments: str = ""  # what else the operation was given

    def __str__(self) -> str:
        said = " and ".join(
            f"the {name} {part.kind} ({part.message})"
            for name, part in (("device", self.device), ("CPU backend", self.cpu))
            if part is not None
        )
        return f"{self.operation} of {self.elements}: {said} [{self.case}]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a run of the program found."""

    version: str  # of the tree
    device: str  # the backend that was compared
    seed: int  # of everything random
    cases: int  # how many of each operation and type
    differences: tuple[Difference, ...] = ()  # in the order in which they were found
    # cases that ``agreed``, that both backends ``refused``, and that ``differed``, by operation
    counts: Mapping[str, Counter[str]] = field(default_factory=dict)

    def total(self, what: str) -> int:
        """Return how many cases ended so."""
        return sum(counts[what] for counts in self.counts.values())


def parse_comparison(lines: Iterable[str]) -> Comparison:
    """Return what lines of the program say."""
    head: Comparison | None = None
    differences: list[Difference] = []
    counts: dict[str, Counter[str]] = {}
    try:
        for line in lines:
            said = json.loads(line)
            if "version" in said:
                head = Comparison(said["version"], said["device"], said["seed"], said["cases"])
            elif "counts" in said:
                found = counts.setdefault(said["operation"], Counter())
                found.update(said["counts"])
            else:
                differences.append(_parse_difference(said))
    except (ValueError, KeyError, TypeError) as error:
        raise VerificationError(
            f"the output of the cross-check cannot be read ({error!r}): delete its target folder"
            " and run it again"
        ) from None
    if head is None:
        raise VerificationError("the cross-check says nothing: run it by hand to see why")
    return replace(head, differences=tuple(differences), counts=counts)


def _parse_difference(said: Mapping[str, Any]) -> Difference:
    parts = {
        name: Part(found["kind"], found["message"], float(found["ulps"]))
        for name in BACKENDS
        if (found := said["differs"].get(name))
    }
    return Difference(
        said["operation"],
        said["elements"],
        parts.get("device"),
        parts.get("cpu"),
        said["times"],
        said["case"],
        said.get("empty", False),
        said.get("edges", False),
        tuple(said.get("inputs", ())),
        said.get("arguments", ""),
    )
