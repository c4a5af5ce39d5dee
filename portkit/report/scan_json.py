"""The JSON of ``portkit scan``; ``scan.schema.json`` beside this file describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from portkit.report.model import ReportedSite, count_by, count_states

if TYPE_CHECKING:
    from portkit.report.model import Report

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""

_FIELDS: Final = tuple(
    name
    for name in ReportedSite.__struct_fields__
    if name not in ("detail", "reason", "looked_at", "writes_error_arm")
)


def render_scan_json(report: Report, *, source: bool = True) -> str:
    """Return the document as text, with a newline at its end."""
    return json.dumps(build_document(report, source=source), indent=1, ensure_ascii=False) + "\n"


def build_document(report: Report, *, source: bool = True) -> dict[str, Any]:
    """Return the document."""
    return {
        "schema": SCHEMA,
        "root": report.root,
        "version": report.version,
        "crates": [{"name": crate.name, "path": crate.path} for crate in report.crates],
        # `dataclasses.asdict` copies each value, which costs more than the rest of the document.
        "sites": [
            {name: getattr(site, name) for name in _FIELDS}
            | ({"reason": site.reason} if site.reason not in ("", site.message) else {})
            | ({"looked_at": True} if site.looked_at else {})
            | ({"detail": site.detail} if source and site.detail else {})
            for site in report.sites
        ],
        "unaccounted": [
            {"path": mention.path, "line": mention.line}
            | ({"text": mention.text} if source else {})
            for mention in report.unaccounted
        ],
        "summary": build_summary(report),
    }


def build_summary(report: Report) -> dict[str, Any]:
    """Return the figures of a report."""
    looked_at = sum(site.looked_at for site in report.sites)
    return {
        "codebase": report.codebase,
        "vendor": report.vendor,
        "gating": report.gating,
        "files": report.files,
        "sites": len(report.sites),
        "unaccounted": len(report.unaccounted),
        "applicability": count_by(report.sites, lambda site: site.applicability.value),
        "status": count_by(report.sites, lambda site: site.status.value),
        "states": dict(count_states(report.sites)),
        **({"looked_at": looked_at} if looked_at else {}),
        "codes": count_by(report.sites, lambda site: site.code),
        "crates": {
            path: {"sites": len(sites), **count_by(sites, lambda site: site.status.value)}
            for path, sites in report.group_by_crate().items()
        },
    }
