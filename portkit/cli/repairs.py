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
from portkit.syntax.shell import git_command

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
    from portkit.engine.session import scan_tree
    from portkit.repairs.defect_repairs import RepairState, merge_changes

    if listed and patches is not None:
        raise typer.BadParameter("--list writes nothing: leave --patches away")
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(directory, profile=find_profile_directory(profile))
    if not listed:
        _check_writable(directory, moves=patches is None)  # before what takes longer
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


def _check_writable(directory: Path, *, moves: bool) -> None:
    from portkit.transaction.commits import open_checkout

    open_checkout(directory, moves=moves)
    _check_clean(directory)


def _check_clean(directory: Path) -> None:
    from portkit.profiles.settings import is_decision_change
    from portkit.workspace.git import check_clean

    check_clean(
        directory, allow_dirty=False, allow_no_vcs=False, own=is_decision_change, options=False
    )


def _write_repairs(directory: Path, due: Sequence[Repair], patches: Path | None) -> None:
    from portkit.repairs.commit_message import format_message
    from portkit.repairs.defect_repairs import merge_changes
    from portkit.report.model import count_noun
    from portkit.transaction.commits import Commit, commit_series, open_checkout, write_patches
    from portkit.transaction.refusals import check_plan

    ground_ = open_checkout(directory, moves=patches is None)
    changes = merge_changes(due)
    if not changes:
        return
    check_plan(directory, changes, _check_clean, dry=patches is not None)
    commits = [Commit(format_message(repair), repair.changes) for repair in due]
    if patches is not None:
        files = write_patches(ground_, commits, patches)
        print_text("".join(f"{file}\n" for file in files), end="")
        keep = "--keep-cr " if any(b"\r\n" in change.after for change in changes) else ""
        print_progress(f"Next: `git am {keep}{patches}/*.patch` in a clone of {directory}.")
        return
    with show_waiting(f"Committing to {directory}"):
        commit_series(ground_, commits, changes, by="portkit repairs")
    for number, repair in enumerate(due, 1):
        print_text(f"{number:3} {repair.name}: {repair.defect.subject}")
    git, them = git_command(directory.as_posix()), "it" if len(commits) == 1 else "them"
    print_progress(
        f"{count_noun(len(commits), 'commit')}: `{git} log --stat {ground_.head[:12]}..` shows"
        f" {them}; `{git} reset --hard {ground_.head[:12]}` takes {them} away again."
    )


def _render_lines(made: Sequence[Repair]) -> list[str]:
    from portkit.report.terminal import align_columns

    rows = [
        (repair.name, repair.state, ", ".join(repair.codes), repair.why or repair.defect.subject)
        for repair in made
    ]
    return list(align_columns(rows, width=sys.maxsize))
