"""The HTML report from the same findings as every other report.

The figures, the map and the plan are part of the page as text; the list of findings is drawn by the
page's script from data that the page carries, since there may be thousands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from portkit import __version__
from portkit.engine.rule_pages import list_all_pages
from portkit.report.decision_entries import describe_cover, render_decision
from portkit.report.decisions import find_decisions, find_fixes
from portkit.report.effort import (
    describe_assumption,
    estimate_minutes,
    estimate_saved_minutes,
    format_minutes,
)
from portkit.report.html.map import HEIGHT, WIDTH, draw_workspace
from portkit.report.html.matrix import build_matrix, select_plain_figures
from portkit.report.model import MEANINGS, count_by, count_states, describe_writes
from portkit.report.scan_json import build_document, build_summary
from portkit.report.scan_summary import count_needs, render_summary
from portkit.report.verify_report import format_duration
from portkit.report.workplan import VERIFYING, build_work_plan
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jinja2

    from portkit.report.model import Report
    from portkit.report.snippets import Hunk
    from portkit.report.taken_branch import TakenBranch

_FOLDER: Final = Path(__file__).parent
_SCRIPTS: Final = ("highlight.js", "page.js")


def render_page(
    report: Report,
    snippets: Mapping[str, Sequence[Hunk]] | None = None,
    *,
    source: bool = True,
    verified: Mapping[str, Any] | None = None,
    written: str = "",
    link: str = "",
    branches: Mapping[str, TakenBranch] | None = None,
) -> str:
    """Return the page.

    Args:
        branches: the branch that the vendor takes at a finding, by its identity.
    """
    template = make_environment().get_template("page.html.j2")
    by_crate = report.group_by_crate()
    return template.render(
        report=report,
        summary=build_summary(report),
        beginning=[count_needs(report), *render_summary(report)],
        decisions=find_decisions(report),
        fixes=count_by(find_fixes(report), lambda site: site.code),
        branches=branches or {},
        states=[
            (state, MEANINGS[state], count) for state, count in count_states(report.sites).items()
        ],
        crates={path: count_states(sites) for path, sites in by_crate.items()},
        largest=max(map(len, by_crate.values()), default=1),
        maps=[
            ("every finding", draw_workspace(report)),
            ("what is left", draw_workspace(report, settled=False)),
        ],
        map_width=WIDTH,
        map_height=HEIGHT,
        todo=describe_writes(report) if report.count(status=Status.TODO) else "",
        stages=build_work_plan(report),
        verifying=VERIFYING,
        left=estimate_minutes(report.sites),
        saved=estimate_saved_minutes(report.sites),
        assumption=describe_assumption(by_hand=bool(estimate_saved_minutes(report.sites))),
        source=source,
        verified=_drop_unknown_links(report, verified),
        written=written,
        version=__version__,
        data=embed_json(_build_data(report, snippets or {}, link, source=source)),
        style=read_style(),
        script=_read(*_SCRIPTS),
    )


def make_environment(*folders: Path) -> jinja2.Environment:
    """Return the environment of templates, with their filters."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _FOLDER]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["hours"] = format_minutes
    made.filters["cover"] = describe_cover
    made.filters["prose"] = _mark_code
    made.filters["duration"] = format_duration
    made.filters["matrix"] = build_matrix
    made.filters["plain_figures"] = select_plain_figures
    return made


def _build_data(
    report: Report, snippets: Mapping[str, Sequence[Hunk]], link: str, *, source: bool
) -> dict[str, Any]:
    found = build_document(report, source=source)
    for entry, site in zip(found["sites"], report.sites, strict=True):
        entry["state"] = site.state
        entry["crate"] = report.crate_of(site)
        if link:
            path = quote(site.path, errors="surrogateescape")
            entry["link"] = link.replace("{path}", path).replace("{line}", str(site.line))
        if settled := render_decision(site):
            entry["decision"] = settled
        if source and site.id in snippets:
            entry["hunks"] = [
                [h.before, h.after, h.line, list(h.lines), h.left_out] for h in snippets[site.id]
            ]
    codes = {site.code for site in report.sites}
    return {
        **found,
        "rules": {
            page.code: {
                "name": page.name.replace("_", " "),
                "title": _mark_code(page.title),
                "text": [_mark_code(part) for part in page.text.split("\n\n") if part],
            }
            for page in list_all_pages(report.directory)
            if page.code in codes
        },
    }


def _drop_unknown_links(
    report: Report, verified: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    if verified is None:
        return None
    known = {site.id for site in report.sites}
    steps = [
        {
            **step,
            "diagnostics": [
                {**found, "site": found["site"] if found["site"] in known else ""}
                for found in step["diagnostics"]
            ],
        }
        for step in verified["steps"]
    ]
    return {**verified, "steps": steps}


def embed_json(data: Mapping[str, Any]) -> Any:
    """Return JSON for a ``script`` element, with nothing that could end the element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _mark_code(text: str) -> Any:
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`+([^`]+)`+", r"<code>\1</code>", str(escape(text))))


def read_style() -> Any:
    """Return the style sheet of every page."""
    return _read("page.css")


def _read(*names: str) -> Any:
    from markupsafe import Markup

    return Markup("\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names))
