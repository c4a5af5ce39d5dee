"""Findings as diagnostics of an editor."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol.types import CodeDescription, Diagnostic, DiagnosticSeverity

from portkit.editor.positions import START, Positions
from portkit.engine.rule_pages import list_all_pages
from portkit.report.explanation import SHOWN
from portkit.report.model import MEANINGS, ReportedSite, locate_finding
from portkit.report.sarif import LEVELS
from portkit.report.snippets import build_site_snippets
from portkit.syntax.value import Value
from portkit.workspace.finding import identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lsprotocol.types import Range

    from portkit.engine.scan import Scan
    from portkit.workspace.finding import Finding

MANIFEST: Final = "Cargo.toml"
"""The file that stands for those that the port adds."""
_SEVERITIES: Final = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "note": DiagnosticSeverity.Information,
}
"""What the levels of SARIF are called here; what asks for nothing is a hint."""
_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
"""The pages of a checkout; a wheel has none, and what they say is shown all the same."""


class EditorFinding(Value, frozen=True):
    """A finding in an editor.

    Attributes:
        shown: the file that it is shown in.
        range: where it is shown: in a long place, its first line.
    """

    site: ReportedSite
    finding: Finding
    shown: str
    range: Range

    @property
    def diagnostic(self) -> Diagnostic:
        """The diagnostic of the finding."""
        site = self.site
        elsewhere = f"{site.path}: " if self.shown != site.path else ""
        page = _find_page(site.code)
        return Diagnostic(
            range=self.range,
            severity=_SEVERITIES.get(LEVELS.get(site.state, ""), DiagnosticSeverity.Hint),
            code=site.code,
            code_description=CodeDescription(page) if page else None,
            source="portkit",
            message=f"{elsewhere}{site.construct}: {site.message} ({site.state})",
            data={"place": site.id},
        )

    def touches(self, lines: Range) -> bool:
        """Whether the finding is shown in some lines."""
        return self.range.start.line <= lines.end.line and lines.start.line <= self.range.end.line


def find_sites(scan: Scan, positions: Mapping[str, Positions]) -> Iterator[EditorFinding]:
    """Yield the findings of a scan."""
    sources = scan.job.workspace.sources
    for identity, finding in identify_findings(scan.findings):
        path = finding.path
        site = locate_finding(finding, sources.get(path), identity)
        if path in positions:
            yield EditorFinding(
                site, finding, path, positions[path].range(finding.span, first_line=True)
            )
        else:
            stands = (scan.job.workspace.root / path).is_file()
            yield EditorFinding(site, finding, path if stands else MANIFEST, START)


def describe_site(scan: Scan, place: EditorFinding) -> str:
    """Return the description of a finding, in Markdown: state, reason, change and page."""
    site = place.site
    parts = [
        f"**{site.code}** {site.state.word}: {MEANINGS[site.state]}",
        f"{site.construct}: {site.message}",
    ]
    if site.reason != site.message:
        parts.append(site.reason)
    source = scan.job.workspace.sources.get(place.finding.path)
    for hunk in build_site_snippets(scan.job, place.finding, source, SHOWN):
        lines = [*hunk.lines, *([f"... {hunk.left_out} more lines"] if hunk.left_out else [])]
        if hunk.after and hunk.after != hunk.before:
            parts.append(f"`{hunk.after}`")
        parts.append(_fence_lines(lines))
    if place.finding.detail:
        parts.append(_fence_lines(place.finding.detail.splitlines()))
    pages = {page.code: page for page in list_all_pages(scan.job.codebase.directory)}
    parts += ["---", pages[site.code].whole]
    return "\n\n".join(parts)


def _fence_lines(lines: Sequence[str]) -> str:
    """Return lines of a difference as a block that nothing in them ends."""
    text = "\n".join(lines)
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{text}\n{fence}"


@cache
def _find_page(code: str) -> str:
    folder = _DOCS / "kernels" if code.startswith("PH") else _DOCS
    found = sorted(folder.glob(f"rules/{code}*.md"))
    return found[0].as_uri() if found else ""
