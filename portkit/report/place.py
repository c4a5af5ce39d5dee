"""What ``portkit explain`` says of a place: where it is, what it asks, what is written there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.report.model import MEANINGS, site_of
from portkit.report.snippets import shown
from portkit.report.terminal import wrapped
from portkit.tree.finding import identified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.scan.scan import Scan
    from portkit.tree.finding import Finding

SHOWN: Final = 40
"""How many lines of one file of a place are shown."""


def by_identity(scan: Scan, identity: str) -> list[tuple[ReportedSite, Finding]]:
    """Return the place of an identity, or nothing."""
    return [each for each in _sites(scan) if each[0].id.lower() == identity.lower()]


def at_line(scan: Scan, path: str, line: int) -> list[tuple[ReportedSite, Finding]]:
    """Return the places that a line is part of.

    Args:
        scan: the scan.
        path: the file, relative to the root.
        line: the line, from 1.
    """
    return [
        each
        for each in _sites(scan)
        if each[0].path == path and each[0].line <= line <= each[0].end_line
    ]


def begins(scan: Scan, path: str) -> list[int]:
    """Return the lines of a file in which places begin."""
    return sorted({site.line for site, _ in _sites(scan) if site.path == path})


def _sites(scan: Scan) -> Iterator[tuple[ReportedSite, Finding]]:
    sources = scan.job.workspace.sources
    for identity, finding in identified(scan.findings):
        yield site_of(finding, sources.get(finding.path), identity), finding


def described(scan: Scan, site: ReportedSite, finding: Finding, terminal: Terminal) -> str:
    """Return what there is to say of a place, with a newline at its end."""
    return "".join(f"{line}\n" for line in _lines(scan, site, finding, terminal))


def _lines(scan: Scan, site: ReportedSite, finding: Finding, terminal: Terminal) -> Iterator[str]:
    yield terminal.bold(f"{site.position}  {site.symbol}")
    yield terminal.dim(f"{site.id}  {site.state.word}: {MEANINGS[site.state]}")
    yield from wrapped(f"{site.construct}: {site.message}", terminal.width)
    source = scan.job.workspace.sources.get(finding.path)
    for hunk in shown(scan.job, finding, source, SHOWN):
        yield ""
        if hunk.after and hunk.after != hunk.before:
            yield terminal.dim(hunk.after)
        if any(line.startswith("=") for line in hunk.lines):
            yield terminal.dim("= marks the place, at which nothing is written")
        for line in hunk.lines:
            yield (
                terminal.good(line)
                if line.startswith("+")
                else (terminal.bad(line) if line.startswith("-") else line)
            )
        if hunk.left_out:
            yield terminal.dim(f"... {hunk.left_out} more lines")
    if finding.detail:
        yield ""
        yield from finding.detail.splitlines()
