"""``portkit branch`` and ``portkit update``: a port that follows upstream and keeps hand work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import FOUND, command
from portkit.cli.options import Directory, GatingOption, Profile, profile_directory
from portkit.cli.output import is_half_written, progress, show
from portkit.lang.shell import argument, in_git, options
from portkit.report.progress import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.update.explain import Conflict, Side
    from portkit.update.ready import Ready
    from portkit.update.update import Asked, Outcome

_SHOWN: Final = 20
"""How many files that a user has changed are named."""

_LINES: Final = 12
"""How many lines of a side of a conflict are shown."""

Of = Annotated[
    str,
    typer.Option(
        metavar="COMMIT",
        help="The commit of upstream that the port is of; by default the history tells.",
        show_default=False,
    ),
]
Pure = Annotated[
    str,
    typer.Option(
        metavar="COMMIT",
        help="A commit whose files are the pure port, as an earlier portkit wrote it; by default"
        " the port is made again.",
        show_default=False,
    ),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Move no branch; exit with 1 if one would move, or conflicts."),
]


@command(
    "portkit branch candle",
    "portkit branch --of upstream/main",
    "portkit branch --pure 1a2b3c4 --check",
)
def branch(
    directory: Directory = Path(),
    of: Of = "",
    pure: Pure = "",
    check: Check = False,
    profile: Profile = "",
    gating: GatingOption = None,
) -> int:
    """Put the pure port on a branch of its own, portkit/rocm.

    It is made from upstream's commit, in memory, and has nothing of yours in it. Your branch is
    joined to it: what differs there is your own change, and `portkit update` keeps it. Where your
    branch is not ported yet, the port is merged into it.

    No hook is run, and no commit is signed.
    """
    from portkit.update.update import Asked, begin

    asked = Asked(
        of=of,
        pure=pure,
        check=check,
        gating=gating or "",
        profile=profile_directory(profile),
    )
    return _run(directory, begin, asked, profile)


@command(
    "portkit update --to upstream/main",
    "portkit update candle --to 0.11.1 --check",
    "portkit update --to FETCH_HEAD --of 1a2b3c4",
)
def update(
    directory: Directory = Path(),
    to: Annotated[
        str,
        typer.Option(metavar="COMMIT", help="The commit of upstream to follow to, fetched before."),
    ] = "",
    of: Of = "",
    pure: Pure = "",
    unrelated: Annotated[
        bool,
        typer.Option(
            "--allow-unrelated", help="Take a commit that does not descend from the one before."
        ),
    ] = False,
    check: Check = False,
    profile: Profile = "",
    gating: GatingOption = None,
) -> int:
    """Follow upstream: commit the pure port of its new commit, and merge it into your branch.

    The merge is an ordinary one of three sides, with the pure port before as the base: what you
    have changed by hand stays. Where upstream has changed the same lines, your branch and your work
    tree stay as they are, and each conflict is explained by the rule that wrote the other side;
    `git merge portkit/rocm` then brings them into the work tree.

    A port without a branch of pure ports gets one. No hook is run, and no commit is signed.
    """
    from portkit.update.update import Asked
    from portkit.update.update import update as follow

    if not to:
        raise typer.BadParameter("name the commit of upstream to follow to: --to upstream/main")
    asked = Asked(
        to=to,
        of=of,
        pure=pure,
        unrelated=unrelated,
        check=check,
        gating=gating or "",
        profile=profile_directory(profile),
    )
    return _run(directory, follow, asked, profile)


def _run(
    directory: Path, action: Callable[[Ready, Asked], Outcome], asked: Asked, profile: str
) -> int:
    """Do it, and print what came of it."""
    from portkit.update.ready import ready
    from portkit.update.update import BRANCH

    if directory.is_dir() and is_half_written(directory):
        return FOUND
    found = ready(directory, BRANCH)
    with waiting(f"Porting {asked.to or directory}"):
        outcome = action(found, asked)
    if outcome.unproven:
        progress(outcome.unproven)
    tree = _tree(directory, found, outcome, profile)
    git = in_git(directory.as_posix())
    show("".join(f"{line}\n" for line in _said(found, asked, outcome, tree, git)), end="")
    if found.signs and (outcome.is_new or outcome.merged) and not asked.check:
        progress(
            "The commits are not signed, though commit.gpgSign is set: portkit runs no program for"
            " it. `git commit --amend --no-edit --gpg-sign` signs a merge."
        )
    moved = outcome.is_new or bool(outcome.merged)
    return FOUND if outcome.conflicts or (asked.check and moved) else 0


def _tree(directory: Path, ready: Ready, outcome: Outcome, profile: str) -> str:
    """Return what stands behind a command that is to look at the port as it was made."""
    from portkit.profile.settings import read
    from portkit.scan.session import DEFAULT_GATING

    told = outcome.gating == (read(ready.root).gating or DEFAULT_GATING)
    asked = options({"--gating": "" if told else outcome.gating, "--profile": profile})
    return argument(directory.as_posix()) + asked


def _said(ready: Ready, asked: Asked, outcome: Outcome, tree: str, git: str) -> Iterator[str]:
    """Yield the lines of the report.

    Args:
        ready: the repository.
        asked: what was asked for.
        outcome: what was done.
        tree: what stands behind a command of portkit's.
        git: how a command of git begins.
    """
    from portkit.report.model import counted_noun

    port = f"The pure port of {outcome.title}"
    if not (outcome.is_new or outcome.merged or outcome.conflicts):
        yield f"Nothing new: {ready.branch} has {port[0].lower()}{port[1:]}, {outcome.port[:12]}."
        return
    is_done = "would be" if asked.check else "is"
    if outcome.begun:
        yield f"{ready.vendor} {is_done} begun."
        if outcome.edited:
            yield (
                f"{counted_noun(len(outcome.edited), 'file')} of {ready.branch} that differ from"
                f" the pure port count as changed by you (`{git} diff {ready.vendor}"
                f" {ready.branch}` shows how):"
            )
            yield from (f"  {path}" for path in outcome.edited[:_SHOWN])
            if len(outcome.edited) > _SHOWN:
                yield f"  and {len(outcome.edited) - _SHOWN} more"
            yield (
                "  Where an earlier portkit wrote them, name the commit that has them as it wrote"
                " them with --pure."
            )
    # A commit that nothing leads to has a hash that says nothing to anybody.
    yield f"{port} {is_done} on {ready.vendor}{'' if asked.check else f': {outcome.port[:12]}'}."
    if outcome.conflicts:
        yield (
            f"{ready.branch} {'would not be' if asked.check else 'is not'} merged, and the work"
            f" tree is as it was: {counted_noun(len(outcome.conflicts), 'conflict')}."
        )
        for conflict in outcome.conflicts:
            yield ""
            yield from _explained(conflict, ready.vendor)
        yield ""
        if not asked.check:
            yield f"Next: `{git} merge {ready.vendor}` brings them into the work tree."
        return
    if outcome.merged:
        yield f"{ready.branch} {is_done} merged with it."
    if not asked.check:
        yield (
            f"Next: `portkit scan{tree} --format plan` lists what is for a person, `portkit"
            f" verify{tree}` proves it."
        )


def _explained(conflict: Conflict, vendor: str) -> Iterator[str]:
    from textwrap import wrap

    yield conflict.position
    for place in conflict.places:
        yield f"  {place.id} {place.construct}, from {place.position}"
        yield from wrap(place.message, 96, initial_indent="    ", subsequent_indent="    ")
    yield from wrap(
        f"{conflict.advice[0].upper()}{conflict.advice[1:]}.",
        96,
        initial_indent="  ",
        subsequent_indent="  ",
    )
    if conflict.sides is not None:
        path = conflict.position.rpartition(":")[0]
        for whose, side in zip(("yours", f"the port's, on {vendor}"), conflict.sides, strict=True):
            yield from _shown(f"{whose}, {path}:{side.line}", side)


def _shown(title: str, side: Side) -> Iterator[str]:
    """Yield a side of a conflict, with the numbers of its lines."""
    from portkit.report.model import counted_noun

    yield f"  {title}{'' if side.text else ': no line'}"
    for number, line in enumerate(side.text[:_LINES], side.line):
        yield f"{number:>8} | {line}".rstrip()
    if len(side.text) > _LINES:
        yield f"           and {counted_noun(len(side.text) - _LINES, 'line')} more"
