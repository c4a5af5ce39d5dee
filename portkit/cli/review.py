"""``portkit review``: the places that a person should look at, one after the other."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from portkit.cli.command import FOUND, command
from portkit.cli.options import Directory, GatingOption, Profile, profile_directory
from portkit.cli.output import errors, is_half_written, notice, progress, screen, show
from portkit.errors import ConfigError
from portkit.lang.shell import argument
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from portkit.codebases.directory import Directory as CodebaseDirectory
    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding
    from portkit.write.change import Change

ANSWERS: Final = {
    "a": "accept: it is right as it is; portkit asks again only if it changes",
    "e": "exclude: portkit does not write this; portkit.toml records your reason",
    "l": "later: go on to the next finding",
    "q": "quit: leave the rest for later",
    "?": "help: print this list",
}
SHOWN: Final = 40
"""How many lines of a branch are shown."""
_CODE: Final = re.compile(r"P[KH]?\d{0,3}", re.IGNORECASE)
_IDENTITY: Final = re.compile(r"P[KH]\d{3}-[0-9a-f]{8}", re.IGNORECASE)
_IN_KERNELS: Final = "PH"
"""How the codes of places in the sources of kernels begin."""
_LINE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(:\d+)?")


@command(
    "portkit review candle",
    "portkit review candle --list",
    "portkit review --accept PK107 --accept candle-nn/src/ops.rs:1021",
    'portkit review --exclude PK405-226474f1 --reason "AMD has none either"',
)
def review(
    directory: Directory = Path(),
    listed: Annotated[
        bool, typer.Option("--list", help="List the places that nobody has looked at.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Accept a place without asking: PK401-226474f1, FILE:LINE, or a code or how it"
            " begins for all of its places.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FINDING",
            help="Exclude a finding from the port without asking, with --reason: portkit does not"
            " write it, and removes it if it wrote it before.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, with --exclude.", show_default=False)] = "",
    profile: Profile = "",
    gating: GatingOption = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Look into the sources of kernels too.")
    ] = False,
) -> int:
    """Go through the places that a person should look at.

    Each is shown as it is and as it will be, with the branch that ROCm takes and the reason.
    portkit.review.toml keeps what is accepted: it is asked about no more, until what stands there,
    or what the port writes there, is another.
    """
    from portkit.report.progress import waiting
    from portkit.scan.session import scan_tree

    chosen = accept or exclude
    if accept and exclude:
        raise typer.BadParameter("--accept and --exclude are two answers: give one at a time")
    if bool(exclude) != bool(reason.strip()):
        raise typer.BadParameter("--exclude and --reason go together: name the finding and say why")
    if listed and chosen:
        raise typer.BadParameter("--list writes nothing: leave out --accept or --exclude")
    if is_half_written(directory):
        return FOUND
    own = profile_directory(profile)
    with waiting(f"Looking at {directory}"):
        found = scan_tree(directory, gating=gating or "", kernels=kernels, profile=own)
    desk = _desk(directory, found, own)
    if listed:
        lines = desk.grouped(screen()) if sys.stdout.isatty() else desk.listed()
        show("".join(f"{line}\n" for line in lines), end="")
    elif chosen:
        named = dict.fromkeys(p.site.id for word in chosen for p in desk.named(word))
        if accept:
            desk.accept(named)
        else:
            for place in [p for p in desk.places if p.site.id in named]:
                if place in desk.places:
                    progress(desk.exclude(place, reason))
        progress(desk.summary())
    else:
        if desk.places and not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise typer.BadParameter(
                "review asks questions and needs a terminal to do so; --list lists the places, and"
                " --accept answers without one"
            )
        _ask(desk, found)
        progress(desk.summary())
    return 0


class Place(Value, frozen=True):
    """A place that nobody has looked at."""

    site: ReportedSite
    finding: Finding

    @property
    def line(self) -> str:
        """The place on one line."""
        return f"{self.site.id}  {self.site.position}  {self.site.symbol}: {self.site.message}"


class Desk:
    """What lies before a reviewer, and where the answers go: each is written at once.

    Args:
        directory: the root of the tree.
        scan: what was found there.
        places: what nobody has looked at.
        profile: the codebase's directory, where the user names one.
    """

    def __init__(
        self,
        directory: Path,
        scan: Scan,
        places: Sequence[Place],
        profile: CodebaseDirectory | None = None,
    ) -> None:
        self.directory = directory
        self.scan = scan
        self.profile = profile
        self.places = [*places]
        self.accepted: set[str] = set()

    def listed(self) -> Iterable[str]:
        """Return the places, a line each, and how many they are."""
        return (*(place.line for place in self.places), self.summary())

    def grouped(self, terminal: Terminal) -> Iterable[str]:
        """Return the same for a window: those of one reason together, and no line is too long."""
        from portkit.report.terminal import located, wrapped

        told: dict[tuple[str, str], list[Place]] = {}
        for place in self.places:
            told.setdefault((place.site.code, place.site.message), []).append(place)
        for (code, message), places in told.items():
            yield from wrapped(f"{code} {message}", terminal.width, "    ")
            rows = [(p.site.id, f"{p.site.position}  {p.site.symbol}") for p in places]
            yield from located(rows, width=terminal.width, indent="    ")
        yield from wrapped(self.summary(), terminal.width)

    def summary(self) -> str:
        """Return how many places there are that nobody has looked at."""
        from portkit.profile.looked import read
        from portkit.report.model import counted_noun, unseen_kernels

        unseen = unseen_kernels(self.scan)
        inside = sum(place.startswith(_IN_KERNELS) for place in read(self.directory)[1])
        if self.places:
            rest = ", and those in the sources of kernels, which --kernels shows" if unseen else ""
            return f"{counted_noun(len(self.places), 'place')} that nobody has looked at{rest}."
        rest = " but for those in the sources of kernels, which --kernels shows" if unseen else ""
        if unseen and inside:
            rest = f"; of those in the sources of kernels {inside} were accepted, and --kernels"
            rest += " shows whether any is left"
        return f"Every place has been looked at{rest}."

    def named(self, word: str) -> Sequence[Place]:
        """Return the places that a word names: an identity, FILE:LINE, or the beginning of a code.

        Raises:
            BadParameter: there are none.
        """
        line = _LINE.fullmatch(word)
        if _IDENTITY.fullmatch(word):
            found = [p for p in self.places if p.site.id.lower() == word.lower()]
        elif _CODE.fullmatch(word):
            found = [p for p in self.places if p.site.code.startswith(word.upper())]
        elif line is not None:
            path = _below(self.directory, line["path"])
            at = f"{path}:{int(line['line'])}"
            found = [p for p in self.places if p.site.position == at]
        else:
            raise typer.BadParameter(
                f"{word!r} names no place: write PK401-226474f1, FILE:LINE, or a code"
            )
        if not found:
            where = argument(self.directory.as_posix())
            raise typer.BadParameter(
                f"{word} names no place that nobody has looked at: `portkit review{where} --list`"
                " lists them"
            )
        return found

    def accept(self, places: Collection[str]) -> None:
        """Write that places were looked at, by their identities."""
        from portkit.profile.looked import NAME, read, text
        from portkit.scan.looked import accepted
        from portkit.write.transaction import Change, write

        self.accepted.update(places)
        data, looked = read(self.directory)
        made = text(accepted(self.scan, looked, self.accepted)).encode()
        write(self.directory, [Change(NAME, data, made)])
        self.places = [p for p in self.places if p.site.id not in self.accepted]

    def alike(self, place: Place) -> Sequence[Place]:
        """Return the findings that one skip excludes together: those of a code in an item."""
        return [p for p in self.places if _key(p.site) == _key(place.site)]

    def beside(self, place: Place) -> Sequence[Place]:
        """Return what such a skip takes too of what nobody is asked about: what is mechanical.

        Raises:
            ConfigError: it takes what was accepted, and no skip takes an answer back.
        """
        from portkit.profile.skipping import check_takes_nothing_back
        from portkit.tree.finding import Status, identified

        asked = {p.site.id for p in self.alike(place)}
        found = [
            _place(self.scan, identity, finding)
            for identity, finding in identified(self.scan.findings)
            if _key(finding) == _key(place.site) and identity not in asked
        ]
        taken = [p for p in found if p.finding.looked_at or p.site.id in self.accepted]
        check_takes_nothing_back(place.site.code, place.site.position, [*map(_named, taken)])
        return [p for p in found if p.finding.status is not Status.NONE]

    def exclude(self, place: Place, reason: str) -> str:
        """Exclude a finding and those like it in portkit.toml; return a sentence that names them.

        Raises:
            ConfigError: the file cannot take it.
        """
        from portkit.profile.looked import own_file
        from portkit.profile.settings import NAME
        from portkit.profile.skipping import check_skippable, with_skip
        from portkit.scan.exceptions import stands
        from portkit.write.transaction import Change, write

        check_skippable(place.site.code, place.site.id, place.site.message)
        file = self.directory / NAME
        before = own_file(file)
        site, why = place.site, " ".join(reason.split())
        after = with_skip(before or b"", site.code, site.path, site.symbol, why)
        excluded, others = self.alike(place), self.beside(place)
        said = f"{NAME} excludes {', '.join(map(_named, excluded))}."
        if others:
            too = ", ".join(map(_named, others))
            said += f" It also excludes {too}, which have the same code in the same item."
        changes: tuple[Change, ...] = ()
        if any(stands(p.finding) for p in (*excluded, *others)):
            changes, left = self._taken_out(before or b"", after)
            said += f" {left}"
        write(self.directory, [Change(NAME, before, after), *changes])
        self.places = [p for p in self.places if p not in excluded]
        return said

    def _taken_out(self, before: bytes, after: bytes) -> tuple[tuple[Change, ...], str]:
        """Return the changes that take out what the port has written, and what is said of it."""
        from portkit.errors import PortkitError
        from portkit.report.progress import waiting
        from portkit.update.taken_out import taken_out

        try:
            with waiting("Taking out what the port has written there"):
                changes = taken_out(
                    self.directory,
                    before,
                    after,
                    profile=self.profile,
                    gating=self.scan.job.gating,
                )
        except PortkitError as error:
            return (), f"What the port has written there stays until you take it out: {error}."
        paths = ", ".join(change.path for change in changes)
        if not changes:
            return (), "What the port had written there is taken out already."
        return changes, f"What the port had written there is taken out of {paths}."


def _desk(directory: Path, found: Scan, profile: CodebaseDirectory | None) -> Desk:
    from portkit.scan.looked import asking

    places = [_place(found, identity, finding) for identity, finding in asking(found)]
    return Desk(directory, found, places, profile)


def _place(scan: Scan, identity: str, finding: Finding) -> Place:
    from portkit.report.model import site_of

    source = scan.job.workspace.sources.get(finding.path)
    return Place(site_of(finding, source, identity), finding)


def _key(place: ReportedSite | Finding) -> tuple[str, str, str]:
    """Return what a skip names of a place."""
    return place.code, place.path, place.symbol


def _named(place: Place) -> str:
    """Return what tells a place from another in the same line."""
    return f"{place.site.id} {place.site.position}"


def _below(root: Path, path: str) -> str:
    """Return a path relative to the root, which may be written from here or from the root."""
    given = Path(path)
    if given.exists() and given.resolve().is_relative_to(root.resolve()):
        return given.resolve().relative_to(root.resolve()).as_posix()
    return given.as_posix()


def _ask(desk: Desk, found: Scan) -> None:
    def ask(question: str) -> str:
        notice(question)
        return sys.stdin.readline()

    Session(ask, progress, errors()).go_through(desk, found)


class Session:
    """One run through the places.

    Args:
        ask: prints a question and returns the answer; empty at the end of the input.
        show: prints a line.
        terminal: where the places are read.
    """

    def __init__(
        self, ask: Callable[[str], str], show: Callable[[str], None], terminal: Terminal
    ) -> None:
        self.ask = ask
        self.show = show
        self.terminal = terminal

    def go_through(self, desk: Desk, scan: Scan) -> None:
        """Ask about each place until the person has had enough."""
        total = len(desk.places)
        for number, place in enumerate([*desk.places], 1):
            if place not in desk.places:
                continue  # it was excluded with another
            self.show("")
            self.show(self.terminal.dim(f"({number}/{total})"))
            for line in shown(scan, place, self.terminal):
                self.show(line)
            if not self._answered(desk, place):
                return

    def _answered(self, desk: Desk, place: Place) -> bool:
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

    def _excluded(self, desk: Desk, place: Place) -> bool:
        try:
            others = [*(p for p in desk.alike(place) if p != place), *desk.beside(place)]
        except ConfigError as error:
            self.show(self.terminal.loud(str(error)))
            return False
        if others:
            too = ", ".join(map(_named, others))
            self.show(
                f"portkit.toml excludes a code in an item, so it would exclude {too} too."
                f" A comment, `// portkit: exclude {place.site.code} REASON`, excludes one finding."
            )
        reason = self.ask("Why? (an empty line goes back) ").strip()
        if not reason:
            return False
        try:
            self.show(desk.exclude(place, reason))
        except ConfigError as error:
            self.show(self.terminal.loud(str(error)))
            return False
        return True


def shown(scan: Scan, place: Place, terminal: Terminal) -> Iterable[str]:
    """Yield what a person sees of a place: before and after, the branch that ROCm takes, why."""
    from portkit.report.branch import branch
    from portkit.report.place import described

    source = scan.job.workspace.sources.get(place.finding.path)
    yield from described(scan, place.site, place.finding, terminal).splitlines()
    taken = branch(scan.job, place.finding, source)
    if taken is None:
        return
    yield ""
    yield terminal.notable(taken.sentence)
    for number, line in enumerate(taken.lines[:SHOWN], taken.line):
        yield f"{terminal.dim(f'{number:>6}')} {line}"
    if len(taken.lines) > SHOWN:
        yield terminal.dim(f"... {len(taken.lines) - SHOWN} more lines")
