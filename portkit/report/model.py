"""The model that every report is written from: findings with lines and columns, and counts.

Reports differ in form alone: each is written from a ``Report``, so that two of them cannot disagree
about a place or a figure.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.port.drift import list_outdated_files
from portkit.port.item_patches import ADJUST, OVERRIDE, REPAIR
from portkit.report.additions import Additions, find_additions
from portkit.rules import match_arms
from portkit.syntax.compressed_source import release_in_turn
from portkit.syntax.shell import quote_tree_argument
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Status, identify_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from portkit.codebases.directory import Directory
    from portkit.engine.scan import Scan
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


class State(StrEnum):
    """The state of a finding, the most pressing first; each finding has exactly one.

    Every report counts by it and calls it by its value.
    """

    MANUAL = "manual"
    """A person must write it."""
    REVIEW = "review"
    """A person should look at it, before or after it is written."""
    MECHANICAL = "mechanical"
    """To do, and ``portkit apply`` writes it."""
    PORTED = "ported"
    """The counterpart stands in the tree."""
    KEPT = "kept"
    """There is nothing to write; the message says why."""

    @property
    def word(self) -> str:
        """The state in prose; documents have the value."""
        return "no change" if self is State.KEPT else self.value


MEANINGS: Final[Mapping[State, str]] = {
    State.MANUAL: "a person must write this",
    State.REVIEW: "a person should look at this",
    State.MECHANICAL: "portkit apply writes this",
    State.PORTED: "the counterpart stands in the tree",
    State.KEPT: "nothing to write, each with its reason",
}
"""What a state means, as every report says it."""


_DESCRIBING: Final = frozenset({OVERRIDE, ADJUST})
"""Codes of findings that describe a copy: nothing is written at them, before the port and after."""


class ReportedSite(Value, frozen=True):
    """A finding where a reader looks for it.

    Lines and columns count from 1, columns in characters. ``end_line`` is the last line of the
    construct, ``end_column`` the column after its last character, as in rustc's diagnostics.
    A file that portkit adds, or could not read, stands at line 1, column 1. ``detail`` may hold the
    tree's own text; ``reason`` is the message without figures of this tree; ``scan_file`` says
    whether a person has accepted the place, which then asks for nothing more.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    construct: str
    symbol: str
    applicability: Applicability
    status: Status
    message: str
    id: str
    detail: str = ""
    reason: str = ""
    looked_at: bool = False
    writes_error_arm: bool = False

    @property
    def position(self) -> str:
        """``path:line``, as editors and terminals link it."""
        return f"{self.path}:{self.line}"

    @property
    def in_kernels(self) -> bool:
        """Whether it is in the source of a kernel, which has its own rules."""
        return self.code.startswith("PH")

    @property
    def is_left_out(self) -> bool:
        """Whether it is excluded and its arm returns an error."""
        return self.applicability is Applicability.KEEP and self.status is Status.TODO

    @property
    def state(self) -> State:
        """The state of the finding."""
        return find_state(self.applicability, self.status)


class Mention(Value, frozen=True):
    """A backend mention that no finding accounts for, with its line's text."""

    path: str
    line: int
    text: str


class ReportedCrate(Value, frozen=True):
    """A package below the root; ``path`` is its directory, ``.`` for one at the root."""

    name: str
    path: str


class Report(Value, frozen=True):
    """The report of a scan.

    Attributes:
        root: the workspace as the user named it, with ``/``.
        codebase: the codebase profile's name; empty for a codebase without one.
        platform: what prose calls the vendor's platform, such as ``ROCm``.
        gating: ``dummy`` or ``cfg``.
        partial: whether only chosen places are part of it.
        obstacle: why ``portkit apply`` would refuse the tree; empty where it would not.
        unseen: how many sources of kernels were not looked into.
        untaken: how many of these the crate of kernels takes that ``portkit apply`` would write.
        shared: whether that crate compiles them as they stand.
        outdated: files that were written as a whole and are not what would be written now, sorted.
        asked: how the tree was to be looked at, in options as they are typed, a space before each.
        folder: the name of the workspace's folder, also if the user named it ``.``.
    """

    root: str
    version: str
    codebase: str
    vendor: str
    platform: str
    gating: str
    crates: tuple[ReportedCrate, ...]
    files: int
    sites: tuple[ReportedSite, ...]
    unaccounted: tuple[Mention, ...]
    partial: bool = False
    obstacle: str = ""
    unseen: int = 0
    untaken: int = 0
    shared: bool = False
    outdated: tuple[str, ...] = ()
    directory: Directory | None = None
    asked: str = ""
    folder: str = ""
    additions: Additions = Additions()

    @property
    def tree(self) -> str:
        """The arguments with which a command reads the same tree in the same way."""
        return quote_tree_argument(self.root) + self.asked

    @property
    def title(self) -> str:
        """The name of the tree, such as ``toy 1.2.3``."""
        only = self.crates[0].name if len(self.crates) == 1 else self.folder or self.root
        return f"{self.codebase or only} {self.version}".strip()

    def count(
        self, *, status: Status | None = None, applicability: Applicability | None = None
    ) -> int:
        """Return how many sites have this status and this applicability."""
        return sum(
            (status is None or site.status is status)
            and (applicability is None or site.applicability is applicability)
            for site in self.sites
        )

    def group_by_crate(self) -> Mapping[str, tuple[ReportedSite, ...]]:
        """Return the sites of each crate that has any, by the crate's path, sorted.

        A site outside every crate, such as one in the root manifest, stands under ``.``.
        """
        grouped: dict[str, list[ReportedSite]] = {}
        for site in self.sites:
            grouped.setdefault(self.crate_of(site), []).append(site)
        return {path: tuple(grouped[path]) for path in sorted(grouped)}

    def crate_of(self, site: ReportedSite) -> str:
        """Return the path of the innermost crate that holds a site, ``.`` outside every crate."""
        inside = (c.path for c in self.crates if site.path.startswith(f"{c.path}/"))
        return max(inside, key=len, default=".")


def make_report(
    scan: Scan, root: str, *, partial: bool = False, obstacle: str = "", asked: str = ""
) -> Report:
    """Make the report of a scan."""
    job = scan.job
    sources = job.workspace.sources
    unseen = count_unseen_kernels(scan)
    kernels = job.codebase.kernels
    todo = {f.path for f in scan.findings if f.status is Status.TODO}
    files = release_in_turn(sources.get(f.path) for f in scan.findings)
    sites = [
        locate_finding(f, source, identity)
        for (identity, f), source in zip(identify_findings(scan.findings), files, strict=True)
    ]
    # A match without a gap has its arms, each of which is a finding.
    sites = [s for s in sites if (s.code, s.status) != (match_arms.MATCH_GAP.code, Status.PORTED)]
    sites.sort(key=lambda s: (s.path, s.line, s.column, s.end_line, s.end_column, s.code, s.id))
    return Report(
        root=root,
        version=job.workspace.version,
        codebase=job.codebase.name,
        vendor=job.vendor.name,
        platform=job.vendor.title,
        gating=job.gating.value,
        crates=tuple(ReportedCrate(c.name, c.directory) for c in job.workspace.crates),
        files=len(job.workspace.sources) + len(job.workspace.unread),
        sites=tuple(sites),
        unaccounted=tuple(Mention(u.path, u.line, u.text) for u in scan.unaccounted),
        partial=partial,
        obstacle=obstacle,
        unseen=unseen,
        untaken=unseen if kernels is not None and kernels.name in todo else 0,
        shared=kernels is not None and kernels.form == "shared",
        outdated=list_outdated_files(scan.findings),
        directory=job.codebase.directory,
        asked=asked,
        folder=job.workspace.root.resolve().name,
        additions=find_additions(scan),
    )


def mark_ported(before: Report) -> Report:
    """Return the report of a tree after all that was to do is written."""
    after = {True: Status.NONE, False: Status.PORTED}
    sites = tuple(
        replace(s, status=after[s.is_left_out]) if s.status is Status.TODO else s
        for s in before.sites
    )
    return replace(before, sites=sites)


def find_state(applicability: Applicability, status: Status) -> State:
    """Return the state of a finding."""
    if applicability in (Applicability.MANUAL, Applicability.REVIEW):
        return State(applicability.value)
    if status is Status.NONE:
        return State.KEPT
    return State.MECHANICAL if status is Status.TODO else State.PORTED


def count_places(sites: Sequence[ReportedSite]) -> str:
    """Return the number of findings in words, those in kernels separately."""
    inside = sum(site.in_kernels for site in sites)
    found = count_noun(len(sites) - inside, "place")
    return f"{found}, and {inside} in the sources of kernels" if inside else found


def count_noun(number: int, noun: str) -> str:
    """Return a number and its noun, such as ``1 place`` or ``2 places``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def count_states(sites: Iterable[ReportedSite]) -> Mapping[State, int]:
    """Return how many sites are in each state; every state is there, in its order."""
    counts = Counter(site.state for site in sites)
    return {state: counts[state] for state in State}


def count_other_reviews(report: Report) -> tuple[int, int]:
    """Return how many findings for review are fixed in copies, and how many stay as they are."""
    asked = [s for s in report.sites if s.state is State.REVIEW and s.status is not Status.TODO]
    fixed = sum(site.code == REPAIR for site in asked)
    return fixed, len(asked) - fixed


def describe_writes(report: Report, *, others: bool = True) -> str:
    """Return the effect of ``portkit apply``: ``writes 9 places (8 mechanical, 1 for review)``."""
    if report.obstacle:
        return "cannot write them"
    todo = [site for site in report.sites if site.status is Status.TODO]
    counts = count_states(todo)
    kinds = [
        f"{counts[state]} {words}"
        for state, words in ((State.MECHANICAL, "mechanical"), (State.REVIEW, "for review"))
        if counts[state]
    ]
    fixed, bare = count_other_reviews(report) if others else (0, 0)
    asking = f"; nothing is written at the other {bare} for review" if bare else ""
    if fixed:
        verb = _choose_verb(fixed)
        asking = f"; of the other {fixed + bare} for review {fixed} {verb} fixed in the copies"
        asking += (
            f" and {bare} {_choose_verb(bare)} left as {'it is' if bare == 1 else 'they are'}"
            * bool(bare)
        )
    text = f"writes {count_places(todo)}" + (
        f" ({', '.join(kinds)}{asking})" if len(kinds) > 1 else ""
    )
    if errors := sum(site.writes_error_arm for site in todo):
        arms = "an arm that answers" if errors == 1 else "arms that answer"
        text += f", {errors} of them {arms} with an error where it is left out"
    if report.untaken:
        sources = f"{count_noun(report.untaken, 'source')} of kernels"
        stand = "it stands" if report.untaken == 1 else "they stand"
        text += (
            f" and has {sources} compiled as {stand}"
            if report.shared
            else f" and translates {sources}"
        )
    return text


def _choose_verb(number: int) -> str:
    return "is" if number == 1 else "are"


def count_unseen_kernels(scan: Scan) -> int:
    """Return how many kernel sources were not read."""
    from portkit.hipify.paths import is_cuda

    job, kernels = scan.job, scan.job.codebase.kernels
    if kernels is None or job.kernels:
        return 0
    return sum(
        path.startswith(f"{kernels.source}/") and is_cuda(path) for path in job.workspace.sources
    )


def count_by(sites: Iterable[ReportedSite], key: Callable[[ReportedSite], str]) -> dict[str, int]:
    """Return how many sites share each key, sorted by key."""
    return dict(sorted(Counter(map(key, sites)).items()))


def locate_finding(finding: Finding, source: SourceFile | None, identity: str) -> ReportedSite:
    """Return a finding where a reader looks for it; ``source`` is its file as it stood."""
    line, column, end_line, end_column = _find_extent(finding, source)
    return ReportedSite(
        path=finding.path,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        code=finding.code,
        construct=finding.construct,
        symbol=finding.symbol,
        applicability=finding.applicability,
        status=Status.NONE if finding.code in _DESCRIBING else finding.status,
        message=finding.message,
        id=identity,
        detail=finding.detail,
        reason=finding.reason or finding.message,
        looked_at=finding.looked_at,
        writes_error_arm=finding.writes_error_arm,
    )


def _find_extent(finding: Finding, source: SourceFile | None) -> tuple[int, int, int, int]:
    span = finding.span
    if finding.line:
        return finding.line, 1, finding.line, 1
    if source is None or span.start >= span.end or span.end > len(source.data):
        return 1, 1, 1, 1
    line, column = _find_position(source, span.start)
    end_line, end_column = _find_position(source, span.end - 1)
    return line, column, end_line, end_column + 1


def _find_position(source: SourceFile, offset: int) -> tuple[int, int]:
    line, column = source.position(offset)
    # An offset may lie inside a character: its first byte counts.
    text = source.data[offset + 1 - column : offset + 1].decode(errors="ignore")
    return line, max(len(text), 1)
