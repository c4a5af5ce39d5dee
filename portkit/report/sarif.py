"""SARIF 2.1.0 of ``portkit scan``, as code scanning services read it.

The OASIS standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0. A result is a place that asks
something of somebody; what is ported, or left alone on purpose, would only fill the list of alerts
and is left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from portkit import __version__
from portkit.engine.rule_pages import list_all_pages
from portkit.report.model import State
from portkit.report.terminal import shorten_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.report.model import Mention, Report, ReportedSite

UNACCOUNTED: Final = "unaccounted"
"""The identity of the rule about mentions that no rule explains."""
_LONGEST: Final = 1024
"""How many characters of a description GitHub takes ("SARIF support for code scanning" in its
documentation, the table of ``reportingDescriptor``)."""
_ROOT: Final = "%SRCROOT%"
LEVELS: Final[Mapping[State, str]] = {
    State.MANUAL: "error",
    State.REVIEW: "note",
    State.MECHANICAL: "warning",
}
"""How pressing a state is that asks something of somebody (the standard, section 3.27.10)."""


def render_sarif(report: Report, *, source: bool = True) -> str:
    """Return the log, with a newline at its end."""
    sites = [site for site in report.sites if site.state in LEVELS]
    known = {page.code: page for page in list_all_pages(report.directory)}
    codes = sorted({site.code for site in sites})
    rules = [
        _describe_rule(page.code, page.name, page.title.replace("``", "`"), page.whole)
        for page in map(known.__getitem__, codes)
    ]
    results = [_build_result(site, codes.index(site.code)) for site in sites]
    if report.unaccounted:
        text = "A mention of a backend that no rule explains."
        rules.append(_describe_rule(UNACCOUNTED, UNACCOUNTED, text, text))
        results += [_build_unaccounted(m, len(codes), source=source) for m in report.unaccounted]
    run = {
        "tool": {
            "driver": {
                "name": "portkit",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": rules,
            }
        },
        "automationDetails": {"id": f"portkit/{report.vendor}/{report.gating}/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the workspace."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _describe_rule(identity: str, name: str, title: str, text: str) -> dict[str, Any]:
    """Return a rule with all fields that GitHub needs, within its limits."""
    return {
        "id": identity,
        "name": "".join(word.capitalize() for word in name.split("_")),
        "shortDescription": {"text": shorten_text(title, _LONGEST)},
        "fullDescription": {"text": shorten_text(text, _LONGEST)},
        "help": {"text": text, "markdown": text},
    }


def _build_result(site: ReportedSite, index: int) -> dict[str, Any]:
    return {
        "ruleId": site.code,
        "ruleIndex": index,
        "level": LEVELS[site.state],
        "message": {"text": f"{site.construct}: {site.message}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _build_artifact(site.path),
                    "region": {
                        "startLine": site.line,
                        "startColumn": site.column,
                        "endLine": site.end_line,
                        "endColumn": site.end_column,
                    },
                },
                "logicalLocations": [{"fullyQualifiedName": site.symbol}],
            }
        ],
        "partialFingerprints": {"portkitSite/v1": site.id},
        "properties": {"applicability": site.applicability.value, "status": site.status.value},
    }


def _build_unaccounted(mention: Mention, index: int, *, source: bool) -> dict[str, Any]:
    text = f": {mention.text}" if source and mention.text else ""
    region = {"startLine": mention.line}
    place = {"artifactLocation": _build_artifact(mention.path), "region": region}
    return {
        "ruleId": UNACCOUNTED,
        "ruleIndex": index,
        "level": "error",
        "message": {"text": f"no rule explains this mention of a backend{text}"},
        "locations": [{"physicalLocation": place}],
    }


def _build_artifact(path: str) -> dict[str, str]:
    # A file's name need not be Unicode; it is quoted as its bytes.
    return {"uri": quote(path.encode(errors="surrogateescape")), "uriBaseId": _ROOT}
