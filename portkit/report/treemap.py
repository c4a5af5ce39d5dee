"""A squarified treemap: boxes inside boxes, each with an area that is its weight.

The algorithm is that of Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000): boxes are laid
in rows along the shorter side, and a row ends where one more box would make its boxes longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; ``x`` grows to the right, ``y`` downwards."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, margin: float, top: float) -> Box:
        """Return the box without a margin on three sides and another at its top."""
        return Box(
            self.x + margin,
            self.y + top,
            max(self.width - 2 * margin, 0.0),
            max(self.height - top - margin, 0.0),
        )


def squarify(weights: Sequence[float], box: Box) -> list[Box]:
    """Return a box for each weight, in their order; together they fill ``box``."""
    return list(_build_rows(weights, box))


def _build_rows(weights: Sequence[float], box: Box) -> Iterator[Box]:
    start = 0
    while start < len(weights):
        left = sum(weights[start:])
        area = box.width * box.height / left
        side = min(box.width, box.height)
        end = start + 1
        while end < len(weights) and _measure_worst(
            weights[start : end + 1], area, side
        ) <= _measure_worst(weights[start:end], area, side):
            end += 1
        row = weights[start:end]
        share = sum(row) / left
        yield from _place_row(row, box, share)
        if box.width >= box.height:
            box = Box(box.x + box.width * share, box.y, box.width * (1 - share), box.height)
        else:
            box = Box(box.x, box.y + box.height * share, box.width, box.height * (1 - share))
        start = end


def _measure_worst(row: Sequence[float], area: float, side: float) -> float:
    if not side:
        return 1.0
    total = sum(row) * area
    return max(side**2 * max(row) * area / total**2, total**2 / (side**2 * min(row) * area))


def _place_row(row: Sequence[float], box: Box, share: float) -> Iterator[Box]:
    total, at = sum(row), 0.0
    for weight in row:
        part = weight / total
        if box.width >= box.height:
            yield Box(box.x, box.y + box.height * at, box.width * share, box.height * part)
        else:
            yield Box(box.x + box.width * at, box.y, box.width * part, box.height * share)
        at += part
