"""``portkit apply --verify``: what is written type-checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.cli.output import progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from portkit.report.model import ReportedSite
    from portkit.scan.plan import Plan
    from portkit.scan.scan import Scan
    from portkit.verify.taking_back import Checking


def type_checked(
    whole: Scan,
    chosen: Scan,
    planned: Callable[[Scan], Plan],
    *,
    consent: Callable[[Path], object],
    sandbox: bool,
    all_or_nothing: bool,
) -> Checking:
    """Return what type-checks of a port.

    Args:
        whole: the scan of the tree.
        chosen: the same with the places alone that are to be written.
        planned: makes the plan of a scan.
        consent: raises a ``PortkitError`` where what the tree brings may not be run.
        sandbox: whether it is run in a sandbox.
        all_or_nothing: whether everything is taken back as soon as something is.

    Raises:
        PortkitError: nothing type-checks, or that cannot be seen.
    """
    from portkit.verify.options import Options
    from portkit.verify.taking_back import STEP, type_checking
    from portkit.verify.tree import Tree

    def say(line: str) -> None:
        if line.startswith(("$ ", STEP)):  # rustc's own words come with the places
            progress(line)

    return type_checking(
        Tree(whole, Options(gating=whole.job.gating.value, sandbox=sandbox), say),
        chosen,
        planned,
        consent=consent,
        all_or_nothing=all_or_nothing,
    )


def taken_back(checking: Checking | None) -> tuple[ReportedSite, ...]:
    """Return the places that were taken back, sorted; none where nothing was checked."""
    from portkit.report.model import site_of
    from portkit.scan.partial import place
    from portkit.tree.finding import identified

    if checking is None:
        return ()
    sources = checking.chosen.job.workspace.sources
    found = (
        site_of(finding, sources.get(finding.path), identity)
        for identity, finding in identified(checking.chosen.findings)
        if place(finding) in checking.taken
    )
    return tuple(sorted(found, key=lambda site: (site.path, site.line, site.column, site.code)))
