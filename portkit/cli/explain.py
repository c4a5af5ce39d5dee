"""``portkit explain`` and ``portkit rules``: what the codes of a report mean."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import command
from portkit.cli.options import Profile, complete_codes, profile_directory
from portkit.cli.output import progress, screen, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.report.model import ReportedSite
    from portkit.scan.codes import Page
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding

    Found = Sequence[tuple[ReportedSite, Finding]]

_PLACE: Final = re.compile(
    r"(?P<code>P[KH]\d{3})-[0-9a-f]{8}|(?P<path>.+?):(?P<line>\d+)(:\d+)?", re.I
)


@command(
    "portkit explain PK301",
    "portkit explain PK401-226474f1",
    "portkit explain candle-core/src/storage.rs:57 --tree candle",
)
def explain(
    wanted: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE|PLACE...",
            help="A code, PK301; a place as reports name it, PK401-226474f1; or FILE:LINE.",
            autocompletion=complete_codes,
        ),
    ],
    tree: Annotated[
        Path,
        typer.Option(metavar="DIR", help="The root of the workspace that the places are in."),
    ] = Path(),
    profile: Profile = "",
) -> None:
    """Print what a code means, or what a place is about.

    Of a code: what the rule finds, why ROCm needs it, and its limits. Of a place: its state, the
    reason, and what stands or is written there, before the same of its code.
    """
    from portkit.report.place import described
    from portkit.report.terminal import reflowed
    from portkit.scan.session import named_profile

    shown = screen()
    own = profile_directory(profile) or named_profile(tree)
    known = _known(own)
    scan: Scan | None = None
    parts: list[str] = []
    for word in wanted:
        place = _PLACE.fullmatch(word)
        codes = [(place["code"] if place and place["code"] else word).upper()]
        if not (place and place["path"]) and codes[0] not in known and _is_workspace(tree):
            scan = scan or _scanned(tree, own)
            known = _known(scan.job.codebase.directory)
        if not (place and place["path"]) and codes[0] not in known:
            raise typer.BadParameter(
                f"there is no code {word!r}; `portkit rules` lists them, and FILE:LINE is a place"
            )
        if place and place["code"] and not _is_workspace(tree):
            progress(f"{tree} is no workspace; --tree DIR names the one that {word} is in.")
        elif place:
            scan = scan or _scanned(tree, own)
            known = _known(scan.job.codebase.directory)
            found = _places(scan, tree, word, place)
            parts += (described(scan, site, finding, shown) for site, finding in found)
            codes = sorted({site.code for site, _ in found})
        for page in map(known.__getitem__, codes):
            text = "\n\n".join(part for part in (page.title, page.text) if part)
            if sys.stdout.isatty():
                text = reflowed(text, shown.width)
            heading = shown.bold(f"{page.code} {page.name}")
            parts.append(f"{heading}\n\n{text.replace('``', '`')}\n")
    show("\n".join(parts), end="")


def _known(own: Directory | None) -> Mapping[str, Page]:
    """Return what each code means, those of a codebase's directory included."""
    from portkit.scan.codes import every_page

    return {page.code: page for page in every_page(own)}


def _is_workspace(tree: Path) -> bool:
    return (tree / "Cargo.toml").is_file()


def _scanned(tree: Path, own: Directory | None) -> Scan:
    from portkit.report.progress import waiting
    from portkit.scan.session import scan_tree

    with waiting(f"Looking at {tree}"):
        return scan_tree(tree, kernels=True, profile=own)


def _places(scan: Scan, tree: Path, word: str, place: re.Match[str]) -> Found:
    """Return the places that a word names.

    Raises:
        BadParameter: there are none.
    """
    from portkit.report.place import at_line, begins, by_identity

    if place["code"]:
        found = by_identity(scan, word)
        if not found:
            raise typer.BadParameter(
                f"{tree} has no place {word}: --tree names another tree, and `portkit scan {tree}"
                " --format json` lists what this one has"
            )
        return found
    path, line = Path(place["path"]), int(place["line"])
    with contextlib.suppress(ValueError):  # it is written from here, or from the root
        path = path.resolve().relative_to(tree.resolve()) if path.exists() else path
    found = at_line(scan, path.as_posix(), line)
    if not found:
        near = sorted(begins(scan, path.as_posix()), key=lambda other: abs(other - line))[:2]
        there = f"the nearest begin in lines {' and '.join(map(str, near))}"
        if not near:
            there = f"the file has none; name one of {tree} that `portkit scan --all` lists"
        raise typer.BadParameter(f"there is no place in line {line} of {path}: {there}")
    return found


@command("portkit rules")
def rules() -> None:
    """List the codes that a report can name."""
    from portkit.report.terminal import columns
    from portkit.scan.codes import every_page

    rows = [(page.code, page.name, page.title.replace("``", "`")) for page in every_page()]
    # A line is cut for a window alone: what reads a pipe has room.
    width = screen().width if sys.stdout.isatty() else sys.maxsize
    show("\n".join(columns(rows, width=width)))
