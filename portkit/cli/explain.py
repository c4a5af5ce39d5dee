"""``portkit explain`` and ``portkit rules``: what the codes of a report mean."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import make_command
from portkit.cli.completion import complete_codes
from portkit.cli.locations import find_sites_at
from portkit.cli.options import Profile, find_profile_directory, option
from portkit.cli.output import open_screen, print_progress, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.cli.locations import Found
    from portkit.codebases.directory import Directory
    from portkit.engine.rule_pages import RulePage
    from portkit.engine.scan import Scan

_PLACE: Final = re.compile(
    r"(?P<code>P[KH]\d{3})-[0-9a-f]{8}|(?P<path>.+?):(?P<line>\d+)(:\d+)?", re.I
)


@make_command(
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
        Path | None,
        option(
            "--tree DIR",
            "The root of the workspace that the places are in; by default the one above the"
            " file, or above where you are.",
        ),
    ] = None,
    profile: Profile = "",
) -> None:
    """Explain a code or a finding.

    Of a code: what the rule finds, why ROCm needs it, and its limits. Of a place: its state, the
    reason, and what stands or is written there, before the same of its code.
    """
    from portkit.engine.session import find_named_profile
    from portkit.report.explanation import describe_site
    from portkit.report.terminal import reflow_text

    shown = open_screen()
    here = _find_root(tree, Path())
    given = find_profile_directory(profile)
    known = _load_meanings(given or find_named_profile(here))
    scans: dict[Path, Scan] = {}

    def scan_of(root: Path) -> Scan:
        if root not in scans:
            scans[root] = _scan_tree(root, given or find_named_profile(root))
        return scans[root]

    parts: list[str] = []
    for word in wanted:
        place = _PLACE.fullmatch(word)
        codes = [(place["code"] if place and place["code"] else word).upper()]
        of_file = bool(place and place["path"])
        root = _find_root(tree, Path(place["path"])) if place and of_file else here
        if not of_file and codes[0] not in known and _is_workspace(root):
            known = _load_meanings(scan_of(root).job.codebase.directory)
        if not of_file and codes[0] not in known:
            from portkit.syntax.typed_toml import suggest_nearest

            alike = [code for code in known if codes[0] and code.startswith(codes[0])]
            near = f"; {', '.join(alike)} begin so" if alike else suggest_nearest(codes[0], known)
            raise typer.BadParameter(
                f"there is no code {word!r}; `portkit rules` lists them, and FILE:LINE is a place"
                f"{near}"
            )
        if place and place["code"] and not _is_workspace(root):
            print_progress(f"{root} is no workspace; --tree DIR names the one that {word} is in.")
        elif place:
            scan = scan_of(root)
            known = _load_meanings(scan.job.codebase.directory)
            found = _find_places(scan, root, word, place)
            parts += (describe_site(scan, site, finding, shown) for site, finding in found)
            codes = sorted({site.code for site, _ in found})
        for page in map(known.__getitem__, codes):
            text = reflow_text(page.whole, shown.width) if sys.stdout.isatty() else page.whole
            heading = shown.bold(f"{page.code} {page.name}")
            parts.append(f"{heading}\n\n{text}\n")
    print_text("\n".join(parts), end="")


def _load_meanings(own: Directory | None) -> Mapping[str, RulePage]:
    """Return what each code means, those of a codebase's directory included."""
    from portkit.engine.rule_pages import list_all_pages

    return {page.code: page for page in list_all_pages(own)}


def _find_root(tree: Path | None, path: Path) -> Path:
    """Return the tree that was named, else the workspace above a file, else that of this folder."""
    from portkit.workspace.cargo_workspace import find_workspace_root

    if tree is not None:
        return tree
    found = (
        (find_workspace_root(path) if path.exists() else None)
        or find_workspace_root(Path())
        or Path()
    )
    return Path() if found == Path().resolve() else found


def _is_workspace(tree: Path) -> bool:
    return (tree / "Cargo.toml").is_file()


def _scan_tree(tree: Path, own: Directory | None) -> Scan:
    from portkit.engine.session import scan_tree
    from portkit.report.progress import show_waiting

    with show_waiting(f"Looking at {tree}"):
        return scan_tree(tree, kernels=True, profile=own)


def _find_places(scan: Scan, tree: Path, word: str, place: re.Match[str]) -> Found:
    from portkit.report.explanation import find_by_identity

    if place["code"]:
        found = find_by_identity(scan, word)
        if not found:
            raise typer.BadParameter(
                f"{tree} has no place {word}: --tree names another tree, and `portkit scan {tree}"
                " --format json` lists what this one has"
            )
        return found
    return find_sites_at(scan, tree, Path(place["path"]), int(place["line"]))


@make_command("portkit rules")
def rules() -> None:
    """List the codes that a report can name."""
    from portkit.engine.rule_pages import list_all_pages
    from portkit.report.terminal import align_columns

    rows = [(page.code, page.name, page.title.replace("``", "`")) for page in list_all_pages()]
    # A line is cut for a window alone: what reads a pipe has room.
    width = open_screen().width if sys.stdout.isatty() else sys.maxsize
    print_text("\n".join(align_columns(rows, width=width)))
