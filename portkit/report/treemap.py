"""A squarified treemap: boxes inside a box, each with an area that is its weight.

Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000): a row takes boxes while their shapes get
better, then the rest of the box is filled in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; ``x`` grows to the right, ``y`` downwards."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, margin: float, top: float) -> Box:
        """Return the box without a margin on three sides and another at its top."""
        width, height = self.width - 2 * margin, self.height - margin - top
        return Box(self.x + margin, self.y + top, max(width, 0), max(height, 0))


def squarify(weights: Sequence[float], box: Box) -> list[Box]:
    """Return a box for each weight, in their order; together they fill ``box``.

    The weights are above 0; the largest first gives the best shapes.
    """
    return list(_fill_box(weights, box))


def _fill_box(weights: Sequence[float], box: Box) -> Iterator[Box]:
    while weights:
        left, side = sum(weights), min(box.width, box.height)
        scale = box.width * box.height / left
        count = 1
        while count < len(weights) and _measure_worst(
            weights[: count + 1], scale, side
        ) <= _measure_worst(weights[:count], scale, side):
            count += 1
        row, weights = weights[:count], weights[count:]
        share, at = sum(row) / left, 0.0
        wide = box.width >= box.height
        for part in (weight / sum(row) for weight in row):
            if wide:
                yield Box(box.x, box.y + box.height * at, box.width * share, box.height * part)
            else:
                yield Box(box.x + box.width * at, box.y, box.width * part, box.height * share)
            at += part
        if wide:
            box = Box(box.x + box.width * share, box.y, box.width * (1 - share), box.height)
        else:
            box = Box(box.x, box.y + box.height * share, box.width, box.height * (1 - share))


def _measure_worst(row: Sequence[float], scale: float, side: float) -> float:
    """Return the largest ratio of length to width among the boxes of a row."""
    if not side:
        return 1.0
    total = sum(row) * scale
    return max(side**2 * max(row) * scale / total**2, total**2 / (side**2 * min(row) * scale))
