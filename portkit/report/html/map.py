"""The map of the workspace: crates as boxes of files, files as slices by state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.report.model import State
from portkit.report.treemap import Box, squarify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.report.model import Report, ReportedSite

WIDTH: Final = 1200.0
HEIGHT: Final = 560.0
_TITLE: Final = 18.0
_LETTER: Final = 6.6
"""How wide a letter of a label is taken to be."""
_EVERYWHERE: Final = frozenset(
    {"Cargo.toml", "README.md", "build.rs", "lib.rs", "main.rs", "mod.rs"}
)
"""Names of files that say nothing without their folder."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The findings of one state in one file; one of the slices may have the file's label."""

    state: State
    count: int
    box: Box
    label: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file with findings."""

    path: str
    count: int
    box: Box
    slices: tuple[Slice, ...]

    @property
    def title(self) -> str:
        """The findings in the file, in words."""
        parts = ", ".join(f"{s.count} {s.state}" for s in self.slices)
        return f"{self.path}: {parts}"


@dataclass(frozen=True, slots=True)
class Crate:
    """A crate with findings."""

    path: str
    label: str
    count: int
    box: Box
    files: tuple[File, ...]


def draw_workspace(report: Report, *, settled: bool = True) -> tuple[Crate, ...]:
    """Return the map, which fills a box of ``WIDTH`` by ``HEIGHT``."""
    crates: dict[str, list[ReportedSite]] = {}
    for path, sites in report.group_by_crate().items():
        shown = [s for s in sites if settled or s.state is not State.KEPT]
        if shown:
            crates[path] = shown
    order = sorted(crates, key=lambda path: (-len(crates[path]), path))
    boxes = squarify([len(crates[path]) for path in order], Box(0, 0, WIDTH, HEIGHT))
    return tuple(_draw_crate(p, crates[p], box) for p, box in zip(order, boxes, strict=True))


def _draw_crate(path: str, sites: Sequence[ReportedSite], box: Box) -> Crate:
    name = "workspace root" if path == "." else path
    label = _fit_label(f"{name} {len(sites)}", box.width) or _fit_label(name, box.width)
    if box.height <= 2 * _TITLE:
        label = ""
    # The label has a strip of its own: over the boxes it could not be read.
    inner = box.inside(2, _TITLE if label else 2)
    return Crate(path, label, len(sites), box, tuple(_draw_files(sites, inner)))


def _draw_files(sites: Sequence[ReportedSite], box: Box) -> Iterator[File]:
    files: dict[str, list[ReportedSite]] = {}
    for site in sites:
        files.setdefault(site.path, []).append(site)
    order = sorted(files, key=lambda path: (-len(files[path]), path))
    for path, cell in zip(order, squarify([len(files[p]) for p in order], box), strict=True):
        counts = Counter(site.state for site in files[path])
        states = [state for state in State if counts[state]]
        parts = squarify([counts[s] for s in states], cell.inside(0.5, 0.5))
        # The label must not run over another colour.
        name = _label_file(path)
        labels = [_fit_label(name, part.width) if part.height > 16 else "" for part in parts]
        first = next((at for at, label in enumerate(labels) if label), None)
        slices = tuple(
            Slice(state, counts[state], part, labels[at] if at == first else "")
            for at, (state, part) in enumerate(zip(states, parts, strict=True))
        )
        yield File(path, len(files[path]), cell, slices)


def _label_file(path: str) -> str:
    """Return a file's name, with its folder if it is a common one such as ``mod.rs``."""
    *folders, name = path.split("/")
    return f"{folders[-1]}/{name}" if folders and name in _EVERYWHERE else name


def _fit_label(text: str, width: float) -> str:
    return text if len(text) * _LETTER + 8 <= width else ""
