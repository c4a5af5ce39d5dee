"""``portkit branch`` and ``portkit update``: a port that follows upstream and keeps hand work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.options import Directory, GatingOption, Profile, find_profile_directory, option
from portkit.cli.output import is_half_written, print_progress, print_text
from portkit.report.progress import show_waiting
from portkit.syntax.shell import git_command, quote_options, quote_tree_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.update.conflicts import Conflict, ConflictSide
    from portkit.update.repository import MovableBranch
    from portkit.update.update import UpdateOutcome, UpdateRequest

_SHOWN: Final = 20
"""How many files that a user has changed are named."""

_LINES: Final = 12
"""How many lines of a side of a conflict are shown."""

Of = Annotated[
    str,
    option(
        "--of COMMIT", "The commit of upstream that the port is of; by default the history tells."
    ),
]
Pure = Annotated[
    str,
    option(
        "--pure COMMIT",
        "A commit whose files are the pure port, as an earlier portkit wrote it; by default"
        " the port is made again.",
    ),
]
Check = Annotated[
    bool, option("--check", "Move no branch; exit with 1 if one would move, or conflicts.")
]


@make_command(
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
    """Commit the generated port, without your edits, to the branch portkit/rocm.

    It is made from upstream's commit, in memory, and has nothing of yours in it. Your branch is
    joined to it: what differs there is your own change, and `portkit update` keeps it. Where your
    branch is not ported yet, the port is merged into it.

    No hook is run, and no commit is signed.
    """
    from portkit.update.update import UpdateRequest, begin_branch

    asked = UpdateRequest(
        of=of, pure=pure, check=check, gating=gating or "", profile=find_profile_directory(profile)
    )
    return _run_update(directory, begin_branch, asked, profile)


@make_command(
    "portkit update --to upstream/main",
    "portkit update candle --to 0.11.1 --check",
    "portkit update --to FETCH_HEAD --of 1a2b3c4",
)
def update(
    directory: Directory = Path(),
    to: Annotated[
        str, option("--to COMMIT", "The commit of upstream to follow to, fetched before.")
    ] = "",
    of: Of = "",
    pure: Pure = "",
    unrelated: Annotated[
        bool,
        option("--allow-unrelated", "Take a commit that does not descend from the one before."),
    ] = False,
    check: Check = False,
    profile: Profile = "",
    gating: GatingOption = None,
) -> int:
    """Port a new upstream commit and merge it into your branch; your edits stay.

    The merge is an ordinary one of three sides, with the pure port before as the base: what you
    have changed by hand stays. Where upstream has changed the same lines, your branch and your work
    tree stay as they are, and each conflict is explained by the rule that wrote the other side;
    `git merge portkit/rocm` then brings them into the work tree.

    A port without a branch of pure ports gets one. No hook is run, and no commit is signed.
    """
    from portkit.update.update import UpdateRequest
    from portkit.update.update import follow_upstream as follow

    if not to:
        raise typer.BadParameter("name the commit of upstream to follow to: --to upstream/main")
    asked = UpdateRequest(
        to=to,
        of=of,
        pure=pure,
        unrelated=unrelated,
        check=check,
        gating=gating or "",
        profile=find_profile_directory(profile),
    )
    return _run_update(directory, follow, asked, profile)


def _run_update(
    directory: Path,
    action: Callable[[MovableBranch, UpdateRequest], UpdateOutcome],
    asked: UpdateRequest,
    profile: str,
) -> int:
    from portkit.update.repository import check_ready
    from portkit.update.update import BRANCH

    if directory.is_dir() and is_half_written(directory):
        return FOUND
    found = check_ready(directory, BRANCH)
    with show_waiting(f"Porting {asked.to or directory}"):
        outcome = action(found, asked)
    if outcome.unproven:
        print_progress(outcome.unproven)
    tree = _format_tree_options(directory, found, outcome, profile)
    git = git_command(directory.as_posix())
    print_text(
        "".join(f"{line}\n" for line in _render_lines(found, asked, outcome, tree, git)), end=""
    )
    if found.signs and (outcome.is_new or outcome.merged) and not asked.check:
        print_progress(
            "The commits are not signed, though commit.gpgSign is set: portkit runs no program for"
            " it. `git commit --amend --no-edit --gpg-sign` signs a merge."
        )
    moved = outcome.is_new or bool(outcome.merged)
    return FOUND if outcome.conflicts or (asked.check and moved) else 0


def _format_tree_options(
    directory: Path, ready: MovableBranch, outcome: UpdateOutcome, profile: str
) -> str:
    """Return what stands behind a command that is to look at the port as it was made."""
    from portkit.engine.session import DEFAULT_GATING
    from portkit.profiles.settings import read_settings

    told = outcome.gating == (read_settings(ready.root).gating or DEFAULT_GATING)
    asked = quote_options({"--gating": "" if told else outcome.gating, "--profile": profile})
    return quote_tree_argument(directory.as_posix()) + asked


def _render_lines(
    ready: MovableBranch, asked: UpdateRequest, outcome: UpdateOutcome, tree: str, git: str
) -> Iterator[str]:
    from portkit.report.model import count_noun

    port = f"The pure port of {outcome.title}"
    if not (outcome.is_new or outcome.merged or outcome.conflicts):
        yield f"Nothing new: {ready.branch} has {port[0].lower()}{port[1:]}, {outcome.port[:12]}."
        return
    is_done = "would be" if asked.check else "is"
    if outcome.begun:
        yield f"{ready.vendor} {is_done} begun."
        if outcome.edited:
            yield (
                f"{count_noun(len(outcome.edited), 'file')} of {ready.branch} that differ from"
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
            f" tree is as it was: {count_noun(len(outcome.conflicts), 'conflict')}."
        )
        for conflict in outcome.conflicts:
            yield ""
            yield from _render_conflict(conflict, ready.vendor)
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


def _render_conflict(conflict: Conflict, vendor: str) -> Iterator[str]:
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
            yield from _render_side(f"{whose}, {path}:{side.line}", side)


def _render_side(title: str, side: ConflictSide) -> Iterator[str]:
    from portkit.report.model import count_noun

    yield f"  {title}{'' if side.text else ': no line'}"
    for number, line in enumerate(side.text[:_LINES], side.line):
        yield f"{number:>8} | {line}".rstrip()
    if len(side.text) > _LINES:
        yield f"           and {count_noun(len(side.text) - _LINES, 'line')} more"
