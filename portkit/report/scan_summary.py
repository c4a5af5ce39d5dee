"""The first lines of a report: decisions, additions of the port, and breaking changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.report.decisions import find_decisions, find_fixes, is_fix
from portkit.report.model import State, count_noun
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.report.model import Report, ReportedSite


def render_summary(report: Report) -> Iterator[str]:
    """Yield the lines, each a sentence or a list; ``apply`` and a later scan count the same."""
    adds = report.additions
    parts = []
    if adds.crates:
        # Their names come from a profile.
        named = f" ({', '.join(adds.crates)})" if report.codebase else ""
        parts.append(f"{count_noun(len(adds.crates), 'crate')}{named}")
    if adds.features:
        parts.append(f"{count_noun(len(adds.features), 'feature')} ({', '.join(adds.features)})")
    if adds.enums:
        parts.append(f"a variant in {', '.join(adds.enums)}")
    if parts:
        yield f"The port adds: {'; '.join(parts)}"
    if adds.breaking:
        yield f"Breaking: exhaustive matches on {', '.join(adds.breaking)} need an arm"
    yield f"For you: {_describe_decisions(report)}"


def count_needs(report: Report) -> str:
    """Return how many findings need the vendor's code, have it, or need no change."""
    sites = report.sites
    todo = report.count(status=Status.TODO)
    ported = sum(s.status is Status.PORTED and not is_fix(s) for s in sites)
    same = sum(site.state is State.KEPT for site in sites)
    parts = [f"{count_noun(todo, 'finding')} {'needs' if todo == 1 else 'need'} {report.platform}"]
    if ported:
        parts.append(f"{ported} {'has' if ported == 1 else 'have'} it")
    parts.append(f"{same} {'needs' if same == 1 else 'need'} no change")
    return ", ".join(parts)


def _describe_decisions(report: Report) -> str:
    fixes, decisions = find_fixes(report), find_decisions(report)
    decide = [site for each in decisions for site in each.sites]
    parts = [f"{len(decisions)} to decide{_describe_kernels(decide)}"]
    if fixes:
        noun = "fix" if len(fixes) == 1 else "fixes"
        parts.append(f"{len(fixes)} upstream {noun} to read{_describe_kernels(fixes)}")
    if report.unseen:
        parts.append(f"{count_noun(report.unseen, 'kernel source')} that only --kernels reads")
    if not (decisions or fixes or report.unseen):
        return "nothing to decide"
    return ", ".join(parts)


def _describe_kernels(sites: Sequence[ReportedSite]) -> str:
    inside = sum(site.in_kernels for site in sites)
    return f" ({inside} in kernels)" if inside else ""
