"""The decisions that a port leaves to a person, and upstream's fixes that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.port.item_patches import REPAIR
from portkit.report.decision_entries import render_decision
from portkit.report.model import State
from portkit.report.taken_branch import find_taken_branch
from portkit.rules import cfg_conditions
from portkit.syntax.compressed_source import release_in_turn
from portkit.syntax.value import Value
from portkit.workspace.finding import identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from portkit.engine.scan import Scan
    from portkit.report.model import Report, ReportedSite
    from portkit.report.taken_branch import TakenBranch

_KERNEL_FIX: Final = "PH3"
"""The codes of fixes in the source of a kernel begin with it."""
_OF_ITEMS: Final = frozenset({cfg_conditions.CFG_ITEM.code, cfg_conditions.CFG_CONDITION.code})


class PendingDecision(Value, frozen=True):
    """One decision.

    Attributes:
        sites: one finding, or those of the halves of one item, which are decided together.
        entry: the lines for ``portkit.toml`` that settle it, with an empty reason; may be empty.
        covers: how many findings for review these lines settle.
    """

    sites: tuple[ReportedSite, ...]
    entry: str
    covers: int

    def render_command(self, report: Report, answer: str) -> str:
        """Return a command that answers the decision."""
        named = "".join(f" --{answer} {site.id}" for site in self.sites)
        why = ' --reason "..."' if answer == "exclude" else ""
        return f"portkit review{report.tree}{named}{why}"


def find_decisions(report: Report) -> tuple[PendingDecision, ...]:
    """Return the decisions, the manual ones first."""
    asked = [site for site in _list_asked(report.sites) if not is_fix(site)]
    entries = [render_decision(site) for site in asked]
    found = []
    for sites in group_decisions(asked):
        entry = render_decision(sites[0])
        found.append(PendingDecision(tuple(sites), entry, entries.count(entry) if entry else 0))
    return tuple(sorted(found, key=lambda each: each.sites[0].state is not State.MANUAL))


def group_decisions(sites: Iterable[ReportedSite]) -> Sequence[Sequence[ReportedSite]]:
    """Return findings grouped into decisions: the halves of one item are one."""
    grouped: dict[tuple[str, ...], list[ReportedSite]] = {}
    for site in sites:
        is_half = site.code in _OF_ITEMS and site.state is State.REVIEW
        key = (site.path, site.symbol) if is_half else (site.id,)
        grouped.setdefault(key, []).append(site)
    return [*grouped.values()]


def find_fixes(report: Report) -> tuple[ReportedSite, ...]:
    """Return the fixes of upstream's code that nobody has accepted."""
    return tuple(filter(is_fix, _list_asked(report.sites)))


def is_fix(site: ReportedSite) -> bool:
    """Whether a finding is a fix of upstream's code, in a copy or in the source of a kernel."""
    return site.code == REPAIR or site.code.startswith(_KERNEL_FIX)


def find_branches(scan: Scan) -> Mapping[str, TakenBranch]:
    """Return the branch that the vendor takes at each finding for a person, by its identity."""
    asked = [
        (identity, finding)
        for identity, finding in identify_findings(scan.findings)
        if finding.applicability.value in (State.MANUAL, State.REVIEW)
    ]
    sources = scan.job.workspace.sources
    files = release_in_turn(sources.get(finding.path) for _, finding in asked)
    found = {
        identity: find_taken_branch(scan.job, finding, source)
        for (identity, finding), source in zip(asked, files, strict=True)
    }
    return {identity: branch for identity, branch in found.items() if branch is not None}


def _list_asked(sites: Iterable[ReportedSite]) -> Sequence[ReportedSite]:
    return [site for site in sites if site.state in (State.MANUAL, State.REVIEW)]
