"""``portkit repairs``: upstream's defects, mended in the tree's own code, as commits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.options import Directory, Profile, find_profile_directory, option, split_words
from portkit.cli.output import print_progress, print_text
from portkit.report.progress import show_waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.engine.scan import Scan
    from portkit.repairs.defect_repairs import Repair


@make_command(
    "portkit repairs candle --list",
    "portkit repairs candle",
    "portkit repairs candle --codes gather-part,PH304 --patches patches",
)
def repairs(
    directory: Directory = Path(),
    codes: Annotated[
        list[str] | None,
        option(
            "--codes CODES", "Only these: names of defects, or codes, or what codes begin with."
        ),
    ] = None,
    patches: Annotated[
        Path | None,
        option(
            "--patches DIR",
            "Write the commits as patches for git am into this new folder; the tree stays as"
            " it is.",
        ),
    ] = None,
    listed: Annotated[
        bool, option("--list", "List the repairs and what each would write.")
    ] = False,
    profile: Profile = "",
    no_format: Annotated[
        bool, option("--no-format", "Do not run rustfmt on what is written.")
    ] = False,
) -> int:
    """Fix upstream's bugs in the CUDA code, each by a commit with its test.

    They need no port, and a port is not needed for them: they are what the copies of a port have
    right, written where the original is wrong. All are written, or nothing. The exit code is 1
    where one of them does not fit the tree.
    """
    from portkit.cli.series import open_clean_checkout
    from portkit.engine.session import scan_tree
    from portkit.repairs.defect_repairs import RepairState, merge_changes

    if listed and patches is not None:
        raise typer.BadParameter("--list writes nothing: leave --patches away")
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(directory, profile=find_profile_directory(profile))
    if not listed:
        open_clean_checkout(directory, patches)  # a refusal comes before what takes longer
    with show_waiting(f"Repairing {directory}"):
        made = _select_repairs(found, split_words(codes), rustfmt=not no_format)
    due = [repair for repair in made if repair.state is RepairState.TO_WRITE]
    unfit = any(repair.state is RepairState.UNFIT for repair in made)
    if listed:
        print_text("".join(f"{line}\n" for line in _render_lines(made)), end="")
        return FOUND if unfit else 0
    _write_repairs(directory, due, patches)
    for repair in made:
        if repair.state is not RepairState.TO_WRITE:
            print_progress(f"{repair.name}: {repair.state}: {repair.why}.")
    if not merge_changes(due):
        print_progress("There is nothing to write.")
    return FOUND if unfit else 0


def _select_repairs(found: Scan, wanted: Sequence[str], *, rustfmt: bool) -> tuple[Repair, ...]:
    from portkit.errors import ProfileError
    from portkit.profiles.defects import FILE
    from portkit.repairs import defect_repairs as of
    from portkit.syntax.typed_toml import suggest_nearest

    known = of.list_repair_names(found)
    if not known:
        name = found.job.codebase.name or "this codebase"
        raise ProfileError(
            f"the profile of {name} says nothing of defects upstream: add {FILE} to its directory"
        )
    asked = tuple(word.upper() if word[:2].upper() in ("PK", "PH") else word for word in wanted)
    for word in asked:
        if not any(word == name or any(c.startswith(word) for c in own) for name, own in known):
            near = suggest_nearest(word, (name for name, _ in known))
            raise typer.BadParameter(
                f"there is no repair {word!r}{near}; `portkit repairs --list` names them"
            )
    return of.build_repairs(found, asked, rustfmt=rustfmt)


def _write_repairs(directory: Path, due: Sequence[Repair], patches: Path | None) -> None:
    from portkit.cli.series import open_clean_checkout, write_commits
    from portkit.repairs.commit_message import format_message
    from portkit.repairs.defect_repairs import merge_changes
    from portkit.transaction.commits import Commit
    from portkit.transaction.preconditions import check_plan

    checkout, clean = open_clean_checkout(directory, patches)
    changes = merge_changes(due)
    if not changes:
        return
    check_plan(directory, changes, clean, dry=patches is not None)
    commits = [Commit(format_message(repair), repair.changes) for repair in due]
    lines = (f"{n:3} {repair.name}: {repair.defect.subject}" for n, repair in enumerate(due, 1))
    write_commits(directory, checkout, commits, changes, patches, lines, by="portkit repairs")


def _render_lines(made: Sequence[Repair]) -> list[str]:
    from portkit.report.terminal import align_columns

    rows = [
        (repair.name, repair.state, ", ".join(repair.codes), repair.why or repair.defect.subject)
        for repair in made
    ]
    return list(align_columns(rows, width=sys.maxsize))
