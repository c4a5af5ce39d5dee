"""``portkit review``: the places that a person should look at, one after the other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.options import Directory, GatingOption, Profile, find_profile_directory, option
from portkit.cli.output import (
    ask,
    can_ask,
    is_half_written,
    open_error_terminal,
    open_screen,
    print_progress,
    print_text,
)
from portkit.cli.review_desk import PendingReview, ReviewDesk, open_desk
from portkit.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from portkit.engine.scan import Scan
    from portkit.report.terminal import Terminal

ANSWERS: Final = {
    "a": "accept: it is right as it is; portkit asks again only if it changes",
    "e": "exclude: portkit does not write this; portkit.toml records your reason",
    "l": "later: go on to the next finding",
    "q": "quit: leave the rest for later",
    "?": "help: print this list",
}
SHOWN: Final = 40
"""How many lines of a branch are shown."""
_UNSAID: Final = "no reason yet"
"""Stands for the reason of an exclusion that is only shown."""


@make_command(
    "portkit review candle",
    "portkit review candle --list",
    "portkit review --accept PK107 --accept candle-nn/src/ops.rs:1021",
    'portkit review --exclude PK405-226474f1 --reason "AMD has none either"',
    "portkit review --later PK107",
    "portkit review --undo",
)
def review(
    directory: Directory = Path(),
    listed: Annotated[
        bool, option("--list", "List the findings for you that nobody has accepted.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        option(
            "--accept FINDING",
            "Accept findings without asking: by code (PK4), by path (a file, a folder,"
            " FILE:LINE), or by number in --list (12, PK401-226474f1).",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        option(
            "--exclude FINDING",
            "Exclude findings from the port, with --reason: portkit does not write them, and"
            " removes what it wrote before. It shows what goes with them and asks.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, with --exclude.", show_default=False)] = "",
    later: Annotated[
        list[str] | None,
        option("--later FINDING", "Leave a finding for later: list or ask the others."),
    ] = None,
    undo: Annotated[
        bool, option("--undo", "Take back your last answer, also one for many findings.")
    ] = False,
    yes: Annotated[
        bool, option("--yes -y", "With --exclude, do not ask before it is written.")
    ] = False,
    keep: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    profile: Profile = "",
    gating: GatingOption = None,
    kernels: Annotated[bool, option("--kernels", "Look into the sources of kernels too.")] = False,
) -> int:
    """Decide the findings for review, one after the other or by options.

    portkit shows each as it is and as it will be, with the branch that ROCm takes and the reason.
    portkit.review.toml holds what you accepted. portkit asks again only if the code there, or what
    the port writes there, changes.
    """
    from portkit.engine.session import scan_tree
    from portkit.report.progress import show_waiting

    if keep:
        raise typer.BadParameter("--keep is --exclude now: it takes a finding out of the port")
    chosen = accept or exclude
    if accept and exclude:
        raise typer.BadParameter("--accept and --exclude are two answers: give one at a time")
    if bool(exclude) != bool(reason.strip()):
        raise typer.BadParameter("--exclude and --reason go together: name the finding and say why")
    if listed and chosen:
        raise typer.BadParameter("--list writes nothing: leave out --accept or --exclude")
    if undo and (chosen or listed or later):
        raise typer.BadParameter("--undo takes your last answer back: leave out the other options")
    if is_half_written(directory):
        return FOUND
    if undo:
        from portkit.cli.review_undo import undo_answer

        print_progress(undo_answer(directory))
        return 0
    own = find_profile_directory(profile)
    with show_waiting(f"Looking at {directory}"):
        found = scan_tree(directory, gating=gating or "", kernels=kernels, profile=own)
    desk = open_desk(directory, found, own)
    named = desk.all_named(chosen or ())
    desk.leave(desk.all_named(later or ()))
    if listed:
        lines = desk.grouped(open_screen()) if sys.stdout.isatty() else desk.listed()
        print_text("".join(f"{line}\n" for line in lines), end="")
    elif chosen:
        if accept:
            desk.accept([place.site.id for place in named])
            for place in named:
                print_progress(f"accepted {place.line}")
        else:
            plan = desk.plan_exclusion(named, reason)
            for line in plan.shown:
                print_progress(line)
            if not (yes or _is_confirmed()):
                print_progress("Nothing was excluded.")
                return FOUND
            print_progress(desk.exclude(plan))
        print_progress(desk.summary())
    else:
        if desk.places and not can_ask():
            raise typer.BadParameter(
                "review asks questions and needs a terminal to do so; --list lists the places, and"
                " --accept answers without one"
            )
        ReviewSession(ask, print_progress, open_error_terminal()).go_through(desk, found)
        print_progress(desk.summary())
    return 0


def _is_confirmed() -> bool:
    if not can_ask():
        raise typer.BadParameter("--exclude asks before it writes: add --yes to answer in advance")
    return ask("Exclude? [y]es  [n]o: ").strip()[:1].lower() == "y"


class ReviewSession:
    """One dialogue about the findings for review."""

    def __init__(
        self, ask: Callable[[str], str], show: Callable[[str], None], terminal: Terminal
    ) -> None:
        self.ask = ask
        self.show = show
        self.terminal = terminal

    def go_through(self, desk: ReviewDesk, scan: Scan) -> None:
        """Ask about each finding until the person quits."""
        total = len(desk.places)
        for number, place in enumerate([*desk.places], 1):
            if place not in desk.places:
                continue  # it was excluded with another
            self.show("")
            self.show(self.terminal.dim(f"({number}/{total})"))
            for line in render_place(scan, place, self.terminal):
                self.show(line)
            if not self._answered(desk, place):
                return

    def _answered(self, desk: ReviewDesk, place: PendingReview) -> bool:
        question = self.terminal.bold("[a]ccept  [e]xclude  [l]ater  [q]uit  [?] help: ")
        while True:
            answer = self.ask(question)
            key = answer.strip()[:1].lower()
            if key == "a":
                desk.accept([place.site.id])
                return True
            if key == "e" and self._excluded(desk, place):
                return True
            if key == "l":
                return True
            if key == "q" or not answer:
                return False
            if key != "e":
                for each, meaning in ANSWERS.items():
                    self.show(f"{self.terminal.bold(each)} - {meaning}")

    def _excluded(self, desk: ReviewDesk, place: PendingReview) -> bool:
        try:
            plan = desk.plan_exclusion([place], _UNSAID)
        except ConfigError as error:
            self.show(self.terminal.loud(str(error)))
            return False
        for line in plan.shown:
            self.show(line)
        if plan.others:
            self.show(
                f"A comment, `// portkit: exclude {place.site.code} REASON`, excludes one finding."
            )
        reason = self.ask("Why? (an empty line goes back) ").strip()
        if not reason:
            return False
        try:
            self.show(desk.exclude(desk.plan_exclusion([place], reason)))
        except ConfigError as error:
            self.show(self.terminal.loud(str(error)))
            return False
        return True


def render_place(scan: Scan, place: PendingReview, terminal: Terminal) -> Iterable[str]:
    """Yield a finding's text before and after, the branch that ROCm takes, and the reason."""
    from portkit.report.explanation import describe_site
    from portkit.report.taken_branch import find_taken_branch

    source = scan.job.workspace.sources.get(place.finding.path)
    yield from describe_site(scan, place.site, place.finding, terminal).splitlines()
    taken = find_taken_branch(scan.job, place.finding, source)
    if taken is None:
        return
    yield ""
    yield terminal.notable(taken.sentence)
    for number, line in enumerate(taken.lines[:SHOWN], taken.line):
        yield f"{terminal.dim(f'{number:>6}')} {line}"
    if len(taken.lines) > SHOWN:
        yield terminal.dim(f"... {len(taken.lines) - SHOWN} more lines")
