"""Find the findings at a file and a line that a user names."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from portkit.syntax.shell import quote_tree_argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from portkit.engine.scan import Scan
    from portkit.report.model import ReportedSite
    from portkit.workspace.finding import Finding

    Found = Sequence[tuple[ReportedSite, Finding]]

_LINE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::\d+)?")
"""A line, as compilers and editors name it, with a column or without."""


def parse_location(word: str) -> tuple[Path, int] | None:
    """Return the file and the line that a word names, or none."""
    match = _LINE.fullmatch(word)
    return (Path(match["path"]), int(match["line"])) if match else None


def find_named_sites(scan: Scan, tree: Path, words: Iterable[str]) -> Found:
    """Return the findings at ``FILE:LINE`` words; see ``find_sites_at``."""
    found: dict[str, tuple[ReportedSite, Finding]] = {}
    for word in words:
        place = parse_location(word)
        if place is None:
            raise typer.BadParameter(f"{word!r} names no line: write FILE:LINE, as src/lib.rs:57")
        found |= {site.id: (site, finding) for site, finding in find_sites_at(scan, tree, *place)}
    return tuple(found.values())


def find_sites_at(scan: Scan, tree: Path, path: Path, line: int) -> Found:
    """Return the findings at a line of the current source."""
    from portkit.report.explanation import find_at_line, list_first_lines

    with contextlib.suppress(ValueError):  # it is written from here, or from the root
        path = path.resolve().relative_to(tree.resolve()) if path.exists() else path
    found = find_at_line(scan, path.as_posix(), line)
    if not found:
        if any((u.path, u.line) == (path.as_posix(), line) for u in scan.unaccounted):
            raise typer.BadParameter(
                f"line {line} of {path} names a backend, and no rule explains it: write its side"
                f" for {scan.job.vendor.title} by hand, or say in the profile why it may stay"
                " ([[keep]])"
            )
        near = sorted(list_first_lines(scan, path.as_posix()), key=lambda other: abs(other - line))[
            :2
        ]
        there = f"the nearest begin in lines {' and '.join(map(str, sorted(near)))}"
        if not near:
            there = _explain_missing_site(scan, tree, path.as_posix())
        raise typer.BadParameter(f"there is no place in line {line} of {path}: {there}")
    return found


def _explain_missing_site(scan: Scan, tree: Path, path: str) -> str:
    origins = {copy: source for source, copy in scan.job.tree_facts.copied_files.items()}
    if path in origins:
        return f"the port makes this file from {origins[path]}, where its places are"
    if not (tree / path).exists():
        return "there is no such file"
    where = quote_tree_argument(tree.as_posix())
    return f"the file has none; `portkit scan{where} --all` lists those that there are"
