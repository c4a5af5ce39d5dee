"""What lies before a reviewer: the findings for review, and the files that record the answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from portkit.syntax.shell import quote_tree_argument
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from portkit.codebases.directory import Directory as CodebaseDirectory
    from portkit.engine.scan import Scan
    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.transaction.change import Change
    from portkit.workspace.finding import Finding

_CODE: Final = re.compile(r"P[KH]?\d{0,3}", re.IGNORECASE)
_IDENTITY: Final = re.compile(r"P[KH]\d{3}-[0-9a-f]{8}", re.IGNORECASE)
_IN_KERNELS: Final = "PH"
"""How the codes of places in the sources of kernels begin."""
_LINE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(:\d+)?")

_NAMELESS: Final = "it names the excluded variant, so `apply` refuses until you exclude it too"


class PendingReview(Value, frozen=True):
    """A finding that nobody has accepted."""

    site: ReportedSite
    finding: Finding

    @property
    def line(self) -> str:
        """The finding on one line."""
        return f"{self.site.id}  {self.site.position}  {self.site.symbol}: {self.site.message}"


class Exclusion(Value, frozen=True):
    """An exclusion that is not written yet.

    Attributes:
        excluded: these, and those of the same code in the same item.
        others: those that go with them, each with the reason.
        left: a sentence on what the port wrote there before; empty where it wrote nothing.
    """

    named: tuple[PendingReview, ...]
    excluded: tuple[PendingReview, ...]
    others: tuple[tuple[PendingReview, str], ...]
    changes: tuple[Change, ...]
    left: str

    @property
    def shown(self) -> Iterable[str]:
        """The lines that a user reads before it is written."""
        yield "This takes out of the port:"
        yield from (f"  {name_place(place)}  {place.site.symbol}" for place in self.named)
        if self.others:
            yield "These findings change with it:"
            yield from (f"  {name_place(place)}  {why}" for place, why in self.others)
        if self.left:
            yield self.left

    @property
    def done(self) -> str:
        """A sentence about the exclusion."""
        from portkit.profiles.settings import NAME

        said = f"{NAME} excludes {', '.join(map(name_place, self.named))}."
        if self.others:
            said += f" With it changed: {', '.join(name_place(place) for place, _ in self.others)}."
        return f"{said} `portkit review --undo` takes this back."


class ReviewDesk:
    """The findings for review, and the files of the answers; each answer is written at once."""

    def __init__(
        self,
        directory: Path,
        scan: Scan,
        places: Sequence[PendingReview],
        profile: CodebaseDirectory | None = None,
    ) -> None:
        self.directory = directory
        self.scan = scan
        self.profile = profile
        self.places = [*places]
        self.accepted: set[str] = set()
        self.later = 0

    def listed(self) -> Iterable[str]:
        """Return the findings, a line each, and their number."""
        return (*(place.line for place in self.places), self.summary())

    def grouped(self, terminal: Terminal) -> Iterable[str]:
        """Return the same for a window: those of one reason together, and no line is too long."""
        from portkit.report.terminal import align_locations, wrap_text

        wide = len(str(len(self.places)))
        numbers = {p.site.id: f"{n:>{wide}}" for n, p in enumerate(self.places, 1)}
        told: dict[tuple[str, str], list[PendingReview]] = {}
        for place in self.places:
            told.setdefault((place.site.code, place.site.message), []).append(place)
        for (code, message), places in told.items():
            yield from wrap_text(f"{code} {message}", terminal.width, "    ")
            rows = [
                (f"{numbers[p.site.id]}  {p.site.id}", f"{p.site.position}  {p.site.symbol}")
                for p in places
            ]
            yield from align_locations(rows, width=terminal.width, indent="    ")
        yield from wrap_text(self.summary(), terminal.width)

    def summary(self) -> str:
        """Return a sentence with the number of pending findings."""
        from portkit.profiles.accepted_findings import read_acceptances
        from portkit.report.model import count_noun, count_unseen_kernels

        unseen = count_unseen_kernels(self.scan)
        inside = sum(place.startswith(_IN_KERNELS) for place in read_acceptances(self.directory)[1])
        if self.later:
            return (
                f"{count_noun(len(self.places), 'finding')} for you, {self.later} left for later."
            )
        if self.places:
            rest = ", and those in the sources of kernels, which --kernels shows" if unseen else ""
            return f"{count_noun(len(self.places), 'finding')} for you{rest}."
        rest = " but for those in the sources of kernels, which --kernels shows" if unseen else ""
        if unseen and inside:
            rest = f"; of those in the sources of kernels {inside} were accepted, and --kernels"
            rest += " shows whether any is left"
        return f"No finding is left for you{rest}."

    def all_named(self, words: Iterable[str]) -> Sequence[PendingReview]:
        """Return the findings that words name, each once, in the order of the list."""
        found = {place.site.id for word in words for place in self.named(word)}
        return [place for place in self.places if place.site.id in found]

    def leave(self, later: Sequence[PendingReview]) -> None:
        """Leave findings for later: they are neither listed nor shown."""
        self.places = [place for place in self.places if place not in later]
        self.later += len(later)

    def named(self, word: str) -> Sequence[PendingReview]:
        """Return the findings that a word names: by code, path, line, identity or number."""
        line = _LINE.fullmatch(word)
        if _IDENTITY.fullmatch(word):
            found = [p for p in self.places if p.site.id.lower() == word.lower()]
        elif _CODE.fullmatch(word):
            found = [p for p in self.places if p.site.code.startswith(word.upper())]
        elif line is not None:
            path = _resolve_below(self.directory, line["path"])
            at = f"{path}:{int(line['line'])}"
            found = [p for p in self.places if p.site.position == at]
        elif word.isdecimal():
            found = self.places[int(word) - 1 : int(word)] if int(word) else []
        elif (path := _resolve_below(self.directory, word)) == ".":
            found = self.places
        else:
            inside = f"{path}/"
            found = [p for p in self.places if f"{p.site.path}/".startswith(inside)]
        if not found:
            where = quote_tree_argument(self.directory.as_posix())
            raise typer.BadParameter(
                f"{word} names no finding that is for you to decide: name a code (PK4), a path,"
                f" FILE:LINE, or a number that `portkit review{where} --list` shows"
            )
        return found

    def accept(self, places: Collection[str]) -> None:
        """Write the acceptance of findings, by their identities."""
        from portkit.engine.acceptance import accept_findings
        from portkit.profiles.accepted_findings import NAME, format_acceptances, read_acceptances
        from portkit.transaction.change import Change

        self.accepted.update(places)
        data, looked = read_acceptances(self.directory)
        made = format_acceptances(accept_findings(self.scan, looked, self.accepted)).encode()
        self._write([Change(NAME, data, made)])
        self.places = [p for p in self.places if p.site.id not in self.accepted]

    def alike(self, place: PendingReview) -> Sequence[PendingReview]:
        """Return the findings that one skip excludes together: those of a code in an item."""
        return [p for p in self.places if _build_skip_key(p.site) == _build_skip_key(place.site)]

    def beside(self, place: PendingReview) -> Sequence[PendingReview]:
        """Return the mechanical findings that such an exclusion also excludes."""
        from portkit.profiles.exclusion_writer import check_accepts_nothing
        from portkit.workspace.finding import Status, identify_findings

        asked = {p.site.id for p in self.alike(place)}
        found = [
            _read_place(self.scan, identity, finding)
            for identity, finding in identify_findings(self.scan.findings)
            if _build_skip_key(finding) == _build_skip_key(place.site) and identity not in asked
        ]
        taken = [p for p in found if p.finding.looked_at or p.site.id in self.accepted]
        check_accepts_nothing(place.site.code, place.site.position, [*map(name_place, taken)])
        return [p for p in found if p.finding.status is not Status.NONE]

    def plan_exclusion(self, named: Sequence[PendingReview], reason: str) -> Exclusion:
        """Return the effects of an exclusion; nothing is written yet."""
        from portkit.engine.exclusions import is_written
        from portkit.profiles.accepted_findings import read_own_file
        from portkit.profiles.exclusion_writer import append_exclusion, check_excludable
        from portkit.profiles.settings import NAME
        from portkit.transaction.change import Change

        before = read_own_file(self.directory / NAME)
        after, why = before or b"", " ".join(reason.split())
        excluded: list[PendingReview] = []
        for place in named:
            site = place.site
            if place in excluded:
                continue
            check_excludable(site.code, site.id, site.message)
            after = append_exclusion(after, site.code, site.path, site.symbol, why)
            excluded += [*self.alike(place), *self.beside(place)]
        with_them = {
            p.site.id: (p, f"{p.site.code} in the same item, {p.site.symbol}")
            for p in excluded
            if p not in named
        }
        with_them |= self._depending(after, excluded)
        changes: tuple[Change, ...] = ()
        left = ""
        if any(is_written(p.finding) for p in excluded):
            changes, left = self._taken_out(before or b"", after)
        return Exclusion(
            named=tuple(named),
            excluded=tuple(excluded),
            others=tuple(with_them.values()),
            changes=(Change(NAME, before, after), *changes),
            left=left,
        )

    def _depending(
        self, after: bytes, excluded: Sequence[PendingReview]
    ) -> dict[str, tuple[PendingReview, str]]:
        from portkit.engine.exclusions import NEEDS_DECISION
        from portkit.engine.partial_ports import find_missing_variants
        from portkit.engine.session import scan_tree
        from portkit.report.progress import show_waiting
        from portkit.workspace.finding import Status, identify_findings

        scan = self.scan
        with show_waiting("Looking at what goes with it"):
            then = scan_tree(
                self.directory,
                gating=scan.job.gating,
                kernels=scan.job.kernels,
                profile=self.profile,
                config=after,
            )
        states = {i: (f.applicability, f.status, f) for i, f in identify_findings(then.findings)}
        nameless = {id(finding) for finding in find_missing_variants(then, then)}
        apart = {place.site.id for place in excluded}
        found = {}
        for identity, finding in identify_findings(scan.findings):
            is_open = finding.status is Status.TODO or finding.applicability in NEEDS_DECISION
            if identity in apart or not is_open or identity not in states:
                continue
            *state, changed = states[identity]
            if id(changed) in nameless:
                found[identity] = (_read_place(scan, identity, finding), _NAMELESS)
            elif state != [finding.applicability, finding.status]:
                found[identity] = (_read_place(scan, identity, finding), changed.message)
        return found

    def exclude(self, plan: Exclusion) -> str:
        """Write an exclusion; return a sentence about it."""
        self._write(plan.changes)
        self.places = [p for p in self.places if p not in plan.excluded]
        return plan.done

    def _write(self, changes: Sequence[Change]) -> None:
        from portkit.cli.review_undo import save_answer
        from portkit.transaction.transaction import write_plan

        write_plan(self.directory, changes)
        save_answer(self.directory, changes)

    def _taken_out(self, before: bytes, after: bytes) -> tuple[tuple[Change, ...], str]:
        from portkit.errors import PortkitError
        from portkit.report.progress import show_waiting
        from portkit.update.dropped_sites import drop_sites

        try:
            with show_waiting("Taking out what the port has written there"):
                changes = drop_sites(
                    self.directory, before, after, profile=self.profile, gating=self.scan.job.gating
                )
        except PortkitError as error:
            return (), f"What the port has written there stays until you take it out: {error}."
        paths = ", ".join(change.path for change in changes)
        if not changes:
            return (), "What the port had written there is taken out already."
        return changes, f"What the port had written there is taken out of {paths}."


def open_desk(directory: Path, found: Scan, profile: CodebaseDirectory | None) -> ReviewDesk:
    """Return the desk with the findings of a scan that nobody has accepted."""
    from portkit.engine.acceptance import find_unreviewed

    places = [_read_place(found, identity, finding) for identity, finding in find_unreviewed(found)]
    return ReviewDesk(directory, found, places, profile)


def _read_place(scan: Scan, identity: str, finding: Finding) -> PendingReview:
    from portkit.report.model import locate_finding

    source = scan.job.workspace.sources.get(finding.path)
    return PendingReview(locate_finding(finding, source, identity), finding)


def _build_skip_key(place: ReportedSite | Finding) -> tuple[str, str, str]:
    return place.code, place.path, place.symbol


def name_place(place: PendingReview) -> str:
    """Return the words that distinguish findings of one line."""
    return f"{place.site.id} {place.site.position}"


def _resolve_below(root: Path, path: str) -> str:
    """Return a path relative to the root, which may be written from here or from the root."""
    given = Path(path)
    if given.exists() and given.resolve().is_relative_to(root.resolve()):
        return given.resolve().relative_to(root.resolve()).as_posix()
    return given.as_posix()
