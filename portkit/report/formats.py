"""The formats of a scan's report, each imported when it is needed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.engine.scan import Scan
    from portkit.report.model import Report
    from portkit.report.terminal import Terminal


class ReportFormat(StrEnum):
    """A form of a scan's report."""

    TABLE = "table"
    """For a terminal."""
    JSON = "json"
    """For programs; ``scan.schema.json`` describes it."""
    MARKDOWN = "markdown"
    """For a pull request."""
    HTML = "html"
    """For a browser: one file that needs no network."""
    PLAN = "plan"
    """A checklist of what is left, in Markdown."""
    SARIF = "sarif"
    """For code scanning services."""


def render_report(
    form: ReportFormat,
    report: Report,
    scan: Scan,
    terminal: Terminal,
    *,
    everything: bool = False,
    source: bool = True,
    verified: Mapping[str, Any] | None = None,
    link: str = "",
) -> str:
    """Return a report in a form, with a newline at its end."""
    if form is ReportFormat.TABLE:
        from portkit.report.scan_table import render_table

        return render_table(report, terminal, everything=everything, source=source)
    if form is ReportFormat.JSON:
        from portkit.report.scan_json import render_scan_json

        return render_scan_json(report, source=source)
    if form is ReportFormat.MARKDOWN:
        from portkit.report.markdown import render_markdown

        return render_markdown(report, source=source)
    if form is ReportFormat.PLAN:
        from portkit.report.workplan import render_work_plan

        return render_work_plan(report)
    if form is ReportFormat.SARIF:
        from portkit.report.sarif import render_sarif

        return render_sarif(report, source=source)
    from portkit.report.decisions import find_branches
    from portkit.report.html import render_page
    from portkit.report.snippets import build_snippets

    shown = build_snippets(scan) if source else {}
    branches = find_branches(scan) if source else {}
    return render_page(
        report, shown, source=source, verified=verified, link=link, branches=branches
    )
