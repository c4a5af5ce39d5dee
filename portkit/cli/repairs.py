"""``portkit repairs``: upstream's defects, mended in the tree's own code, as commits."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from portkit.cli.command import FOUND, command
from portkit.cli.options import Directory, Profile, profile_directory, words
from portkit.cli.output import progress, show
from portkit.lang.shell import in_git
from portkit.report.progress import waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.repairs.repairs import Repair
    from portkit.scan.scan import Scan


@command(
    "portkit repairs candle --list",
    "portkit repairs candle",
    "portkit repairs candle --codes gather-part,PH304 --patches patches",
)
def repairs(
    directory: Directory = Path(),
    codes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODES",
            help="Only these: names of defects, or codes, or what codes begin with.",
        ),
    ] = None,
    patches: Annotated[
        Path | None,
        typer.Option(
            "--patches",
            metavar="DIR",
            help="Write the commits as patches for git am into this new folder; the tree stays as"
            " it is.",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what there is and what would be written.")
    ] = False,
    profile: Profile = "",
    no_format: Annotated[
        bool, typer.Option("--no-format", help="Do not run rustfmt on what is written.")
    ] = False,
) -> int:
    """Mend upstream's defects in the tree's own code, each by a commit with its test.

    They need no port, and a port is not needed for them: they are what the copies of a port have
    right, written where the original is wrong. All are written, or nothing. The exit code is 1
    where one of them does not fit the tree.
    """
    from portkit.repairs.repairs import State, together
    from portkit.scan.session import scan_tree

    if listed and patches is not None:
        raise typer.BadParameter("--list writes nothing: leave --patches away")
    with waiting(f"Looking at {directory}"):
        found = scan_tree(directory, profile=profile_directory(profile))
        made = _asked(found, words(codes), rustfmt=not no_format)
    due = [repair for repair in made if repair.state is State.TO_WRITE]
    unfit = any(repair.state is State.UNFIT for repair in made)
    if listed:
        show("".join(f"{line}\n" for line in _lines(made)), end="")
        return FOUND if unfit else 0
    _write(directory, due, patches)
    for repair in made:
        if repair.state is not State.TO_WRITE:
            progress(f"{repair.name}: {repair.state}: {repair.why}.")
    if not together(due):
        progress("There is nothing to write.")
    return FOUND if unfit else 0


def _asked(found: Scan, wanted: Sequence[str], *, rustfmt: bool) -> tuple[Repair, ...]:
    """Return the repairs that are asked for.

    Raises:
        BadParameter: one is asked for that there is not.
        ProfileError: the codebase has none.
    """
    from portkit.errors import ProfileError
    from portkit.lang.typed import nearest
    from portkit.profile.upstream import FILE
    from portkit.repairs import repairs as of

    known = of.names(found)
    if not known:
        name = found.job.codebase.name or "this codebase"
        raise ProfileError(
            f"the profile of {name} says nothing of defects upstream: add {FILE} to its directory"
        )
    asked = tuple(word.upper() if word[:2].upper() in ("PK", "PH") else word for word in wanted)
    for word in asked:
        if not any(word == name or any(c.startswith(word) for c in own) for name, own in known):
            near = nearest(word, (name for name, _ in known))
            raise typer.BadParameter(
                f"there is no repair {word!r}{near}; `portkit repairs --list` names them"
            )
    return of.repairs(found, asked, rustfmt=rustfmt)


def _write(directory: Path, due: Sequence[Repair], patches: Path | None) -> None:
    """Write repairs as commits on the branch, or as patches.

    Raises:
        PortkitError: it cannot be done; nothing was changed.
    """
    from portkit.profile.settings import is_own_change
    from portkit.repairs.message import message
    from portkit.repairs.repairs import together
    from portkit.report.model import counted_noun
    from portkit.tree.git import check_clean
    from portkit.write.commits import Commit, commit_series, write_patches
    from portkit.write.refusals import refuse
    from portkit.write.repository import ground

    ground_ = ground(directory, moves=patches is None)
    clean = partial(
        check_clean, allow_dirty=False, allow_no_vcs=False, own=is_own_change, options=False
    )
    clean(directory)
    changes = together(due)
    if not changes:
        return
    refuse(directory, changes, clean, dry=patches is not None)
    commits = [Commit(message(repair), repair.changes) for repair in due]
    if patches is not None:
        files = write_patches(ground_, commits, patches)
        show("".join(f"{file}\n" for file in files), end="")
        keep = "--keep-cr " if any(b"\r\n" in change.after for change in changes) else ""
        progress(f"Next: `git am {keep}{patches}/*.patch` in a clone of {directory}.")
        return
    commit_series(ground_, commits, changes, by="portkit repairs")
    for number, repair in enumerate(due, 1):
        show(f"{number:3} {repair.name}: {repair.defect.subject}")
    git, them = in_git(directory.as_posix()), "it" if len(commits) == 1 else "them"
    progress(
        f"{counted_noun(len(commits), 'commit')}: `{git} log --stat {ground_.head[:12]}..` shows"
        f" {them}; `{git} reset --hard {ground_.head[:12]}` takes {them} away again."
    )


def _lines(made: Sequence[Repair]) -> list[str]:
    from portkit.report.terminal import columns

    rows = [
        (
            repair.name,
            repair.state,
            ", ".join(repair.codes),
            repair.why or repair.defect.subject,
        )
        for repair in made
    ]
    return list(columns(rows, width=sys.maxsize))
