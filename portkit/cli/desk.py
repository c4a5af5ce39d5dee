"""What lies before a reviewer: the findings for review, and the files that record the answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from portkit.lang.shell import argument
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from portkit.codebases.directory import Directory as CodebaseDirectory
    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding
    from portkit.write.change import Change

_CODE: Final = re.compile(r"P[KH]?\d{0,3}", re.IGNORECASE)
_IDENTITY: Final = re.compile(r"P[KH]\d{3}-[0-9a-f]{8}", re.IGNORECASE)
_IN_KERNELS: Final = "PH"
"""How the codes of places in the sources of kernels begin."""
_LINE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(:\d+)?")

_NAMELESS: Final = "it names the excluded variant, so `apply` refuses until you exclude it too"


class Place(Value, frozen=True):
    """A place that nobody has looked at."""

    site: ReportedSite
    finding: Finding

    @property
    def line(self) -> str:
        """The place on one line."""
        return f"{self.site.id}  {self.site.position}  {self.site.symbol}: {self.site.message}"


class Exclusion(Value, frozen=True):
    """An exclusion that is not written yet.

    Attributes:
        named: the findings that the user named.
        excluded: these, and those of the same code in the same item.
        others: those that go with them, each with the reason.
        changes: what is written.
        left: a sentence on what the port wrote there before; empty where it wrote nothing.
    """

    named: tuple[Place, ...]
    excluded: tuple[Place, ...]
    others: tuple[tuple[Place, str], ...]
    changes: tuple[Change, ...]
    left: str

    @property
    def shown(self) -> Iterable[str]:
        """What a user reads before it is written."""
        yield "This takes out of the port:"
        yield from (f"  {named_place(place)}  {place.site.symbol}" for place in self.named)
        if self.others:
            yield "These findings change with it:"
            yield from (f"  {named_place(place)}  {why}" for place, why in self.others)
        if self.left:
            yield self.left

    @property
    def done(self) -> str:
        """A sentence that says what is excluded."""
        from portkit.profile.settings import NAME

        said = f"{NAME} excludes {', '.join(map(named_place, self.named))}."
        if self.others:
            said += (
                f" With it changed: {', '.join(named_place(place) for place, _ in self.others)}."
            )
        return f"{said} `portkit review --undo` takes this back."


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
        self.later = 0

    def listed(self) -> Iterable[str]:
        """Return the places, a line each, and how many they are."""
        return (*(place.line for place in self.places), self.summary())

    def grouped(self, terminal: Terminal) -> Iterable[str]:
        """Return the same for a window: those of one reason together, and no line is too long."""
        from portkit.report.terminal import located, wrapped

        wide = len(str(len(self.places)))
        numbers = {p.site.id: f"{n:>{wide}}" for n, p in enumerate(self.places, 1)}
        told: dict[tuple[str, str], list[Place]] = {}
        for place in self.places:
            told.setdefault((place.site.code, place.site.message), []).append(place)
        for (code, message), places in told.items():
            yield from wrapped(f"{code} {message}", terminal.width, "    ")
            rows = [
                (f"{numbers[p.site.id]}  {p.site.id}", f"{p.site.position}  {p.site.symbol}")
                for p in places
            ]
            yield from located(rows, width=terminal.width, indent="    ")
        yield from wrapped(self.summary(), terminal.width)

    def summary(self) -> str:
        """Return how many places there are that nobody has looked at."""
        from portkit.profile.looked import read
        from portkit.report.model import counted_noun, unseen_kernels

        unseen = unseen_kernels(self.scan)
        inside = sum(place.startswith(_IN_KERNELS) for place in read(self.directory)[1])
        if self.later:
            return (
                f"{counted_noun(len(self.places), 'finding')} for you, {self.later} left for later."
            )
        if self.places:
            rest = ", and those in the sources of kernels, which --kernels shows" if unseen else ""
            return f"{counted_noun(len(self.places), 'place')} that nobody has looked at{rest}."
        rest = " but for those in the sources of kernels, which --kernels shows" if unseen else ""
        if unseen and inside:
            rest = f"; of those in the sources of kernels {inside} were accepted, and --kernels"
            rest += " shows whether any is left"
        return f"Every place has been looked at{rest}."

    def all_named(self, words: Iterable[str]) -> Sequence[Place]:
        """Return the findings that words name, each once, in the order of the list.

        Raises:
            BadParameter: a word names none.
        """
        found = {place.site.id for word in words for place in self.named(word)}
        return [place for place in self.places if place.site.id in found]

    def leave(self, later: Sequence[Place]) -> None:
        """Leave findings for later: they are neither listed nor asked about."""
        self.places = [place for place in self.places if place not in later]
        self.later += len(later)

    def named(self, word: str) -> Sequence[Place]:
        """Return the findings that a word names: by code, path, line, identity or number.

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
        elif word.isdecimal():
            found = self.places[int(word) - 1 : int(word)] if int(word) else []
        elif (path := _below(self.directory, word)) == ".":
            found = self.places
        else:
            inside = f"{path}/"
            found = [p for p in self.places if f"{p.site.path}/".startswith(inside)]
        if not found:
            where = argument(self.directory.as_posix())
            raise typer.BadParameter(
                f"{word} names no finding that is for you to decide: name a code (PK4), a path,"
                f" FILE:LINE, or a number that `portkit review{where} --list` shows"
            )
        return found

    def accept(self, places: Collection[str]) -> None:
        """Write that places were looked at, by their identities."""
        from portkit.profile.looked import NAME, read, text
        from portkit.scan.looked import accepted
        from portkit.write.change import Change

        self.accepted.update(places)
        data, looked = read(self.directory)
        made = text(accepted(self.scan, looked, self.accepted)).encode()
        self._write([Change(NAME, data, made)])
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
        check_takes_nothing_back(place.site.code, place.site.position, [*map(named_place, taken)])
        return [p for p in found if p.finding.status is not Status.NONE]

    def plan_exclusion(self, named: Sequence[Place], reason: str) -> Exclusion:
        """Return what an exclusion of findings will change; nothing is written yet.

        Raises:
            ConfigError: the file cannot take it.
        """
        from portkit.profile.looked import own_file
        from portkit.profile.settings import NAME
        from portkit.profile.skipping import check_skippable, with_skip
        from portkit.scan.exceptions import stands
        from portkit.write.change import Change

        before = own_file(self.directory / NAME)
        after, why = before or b"", " ".join(reason.split())
        excluded: list[Place] = []
        for place in named:
            site = place.site
            if place in excluded:
                continue
            check_skippable(site.code, site.id, site.message)
            after = with_skip(after, site.code, site.path, site.symbol, why)
            excluded += [*self.alike(place), *self.beside(place)]
        with_them = {
            p.site.id: (p, f"{p.site.code} in the same item, {p.site.symbol}")
            for p in excluded
            if p not in named
        }
        with_them |= self._depending(after, excluded)
        changes: tuple[Change, ...] = ()
        left = ""
        if any(stands(p.finding) for p in excluded):
            changes, left = self._taken_out(before or b"", after)
        return Exclusion(
            named=tuple(named),
            excluded=tuple(excluded),
            others=tuple(with_them.values()),
            changes=(Change(NAME, before, after), *changes),
            left=left,
        )

    def _depending(self, after: bytes, excluded: Sequence[Place]) -> dict[str, tuple[Place, str]]:
        """Return the other findings that change with an exclusion, each with the reason."""
        from portkit.report.progress import waiting
        from portkit.scan.exceptions import ASKING
        from portkit.scan.partial import without_variant
        from portkit.scan.session import scan_tree
        from portkit.tree.finding import Status, identified

        scan = self.scan
        with waiting("Looking at what goes with it"):
            then = scan_tree(
                self.directory,
                gating=scan.job.gating,
                kernels=scan.job.kernels,
                profile=self.profile,
                config=after,
            )
        states = {i: (f.applicability, f.status, f) for i, f in identified(then.findings)}
        nameless = {id(finding) for finding in without_variant(then, then)}
        apart = {place.site.id for place in excluded}
        found = {}
        for identity, finding in identified(scan.findings):
            is_open = finding.status is Status.TODO or finding.applicability in ASKING
            if identity in apart or not is_open or identity not in states:
                continue
            *state, changed = states[identity]
            if id(changed) in nameless:
                found[identity] = (_place(scan, identity, finding), _NAMELESS)
            elif state != [finding.applicability, finding.status]:
                found[identity] = (_place(scan, identity, finding), changed.message)
        return found

    def exclude(self, plan: Exclusion) -> str:
        """Write an exclusion; return a sentence that says what it excludes."""
        self._write(plan.changes)
        self.places = [p for p in self.places if p not in plan.excluded]
        return plan.done

    def _write(self, changes: Sequence[Change]) -> None:
        from portkit.cli.undo import remember
        from portkit.write.transaction import write

        write(self.directory, changes)
        remember(self.directory, changes)

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


def desk_of(directory: Path, found: Scan, profile: CodebaseDirectory | None) -> Desk:
    """Return the desk with the findings of a scan that nobody has accepted."""
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


def named_place(place: Place) -> str:
    """Return what tells a place from another in the same line."""
    return f"{place.site.id} {place.site.position}"


def _below(root: Path, path: str) -> str:
    """Return a path relative to the root, which may be written from here or from the root."""
    given = Path(path)
    if given.exists() and given.resolve().is_relative_to(root.resolve()):
        return given.resolve().relative_to(root.resolve()).as_posix()
    return given.as_posix()
