"""The matrix of kernels: the result of each source on each architecture.

It is read from the figures of ``verify``'s kernels step, whose names are ``SOURCE for ARCH, WHAT``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_FIGURE: Final = re.compile(r"(?P<source>\S+) for (?P<arch>\S+), (?P<what>kernels|spilling|failed)")


@dataclass(frozen=True, slots=True)
class Cell:
    """One source on one architecture.

    Attributes:
        state: ``failed``, ``spilling``, ``clean``, or ``absent`` where it was not tried.
    """

    state: str
    text: str


@dataclass(frozen=True)
class Matrix:
    """The cells, each source's in the order of the architectures."""

    archs: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]


def build_matrix(figures: Mapping[str, int]) -> Matrix | None:
    """Return the matrix that the figures of a step hold, or none."""
    cells: dict[tuple[str, str], dict[str, int]] = {}
    for name, number in figures.items():
        found = _FIGURE.fullmatch(name)
        if found is not None:
            cells.setdefault((found["source"], found["arch"]), {})[found["what"]] = number
    if not cells:
        return None
    archs = tuple(dict.fromkeys(arch for _, arch in cells))
    sources = sorted({source for source, _ in cells})
    return Matrix(archs, {s: tuple(_build_cell(cells.get((s, a))) for a in archs) for s in sources})


def select_plain_figures(figures: Mapping[str, int]) -> Mapping[str, int]:
    """Return the figures that are not part of the matrix."""
    return {name: number for name, number in figures.items() if not _FIGURE.fullmatch(name)}


def _build_cell(found: Mapping[str, int] | None) -> Cell:
    if found is None:
        return Cell("absent", "")
    if found.get("failed"):
        return Cell("failed", "does not compile")
    kernels, spilling = found.get("kernels", 0), found.get("spilling", 0)
    if spilling:
        return Cell("spilling", f"{kernels}, {spilling} spill")
    return Cell("clean", str(kernels))
