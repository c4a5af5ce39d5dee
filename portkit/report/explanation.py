"""The explanation of a finding for ``portkit explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.report.model import MEANINGS, locate_finding
from portkit.report.snippets import build_site_snippets
from portkit.report.terminal import wrap_text
from portkit.workspace.finding import identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.engine.scan import Scan
    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal
    from portkit.workspace.finding import Finding

SHOWN: Final = 40
"""How many lines of one file of a place are shown."""


def find_by_identity(scan: Scan, identity: str) -> list[tuple[ReportedSite, Finding]]:
    """Return the finding with an identity, or nothing."""
    return [each for each in _list_sites(scan) if each[0].id.lower() == identity.lower()]


def find_at_line(scan: Scan, path: str, line: int) -> list[tuple[ReportedSite, Finding]]:
    """Return the findings at a line."""
    return [
        each
        for each in _list_sites(scan)
        if each[0].path == path and each[0].line <= line <= each[0].end_line
    ]


def list_first_lines(scan: Scan, path: str) -> list[int]:
    """Return the lines of a file at which findings begin."""
    return sorted({site.line for site, _ in _list_sites(scan) if site.path == path})


def _list_sites(scan: Scan) -> Iterator[tuple[ReportedSite, Finding]]:
    sources = scan.job.workspace.sources
    for identity, finding in identify_findings(scan.findings):
        yield locate_finding(finding, sources.get(finding.path), identity), finding


def describe_site(scan: Scan, site: ReportedSite, finding: Finding, terminal: Terminal) -> str:
    """Return the explanation of a finding, with a newline at its end."""
    return "".join(f"{line}\n" for line in _render_lines(scan, site, finding, terminal))


def _render_lines(
    scan: Scan, site: ReportedSite, finding: Finding, terminal: Terminal
) -> Iterator[str]:
    yield terminal.bold(f"{site.position}  {site.symbol}")
    yield terminal.dim(f"{site.id}  {site.state.word}: {MEANINGS[site.state]}")
    yield from wrap_text(f"{site.construct}: {site.message}", terminal.width)
    source = scan.job.workspace.sources.get(finding.path)
    for hunk in build_site_snippets(scan.job, finding, source, SHOWN):
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
