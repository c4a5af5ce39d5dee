"""The reports of ``portkit hipify`` and ``portkit map``."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.report.model import State, count_by, count_noun, locate_finding
from portkit.report.scan_table import group_by_state, render_grouped
from portkit.report.terminal import align_columns, wrap_text
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability, identify_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from portkit.hipify.api_table import Lookup, Mapping
    from portkit.hipify.stage import HipifyReport
    from portkit.report.model import ReportedSite
    from portkit.report.terminal import Terminal

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""

_FIELDS: Final = (
    "path",
    "line",
    "column",
    "end_line",
    "end_column",
    "code",
    "construct",
    "symbol",
    "applicability",
    "message",
    "id",
)
_COLUMNS: Final = {
    State.MANUAL: Applicability.MANUAL,
    State.REVIEW: Applicability.REVIEW,
    State.MECHANICAL: Applicability.SAFE,
    State.KEPT: Applicability.KEEP,
}
"""The states that a place of a translation can be in, in their order."""


_NAMED: Final = 3
"""How many files that were written are named."""


def render_hipify_table(report: HipifyReport, out: Path | None, terminal: Terminal) -> str:
    """Return the table."""
    return "\n".join(_render_lines(report, out, terminal)) + "\n"


def render_listing(report: HipifyReport, terminal: Terminal) -> str:
    """Return only the findings for a person, or an empty text."""
    return "".join(f"{line}\n" for line in _render_findings(report, list_sites(report), terminal))


def render_missing(report: HipifyReport) -> str:
    """Return one line about what a translation on standard output lacks, or an empty text.

    The headers are written with it where it goes to a folder.
    """
    if not report.headers:
        return ""
    sources = ", ".join(each.target for each in report.translations)
    first, *more = report.headers
    needs = f"{sources} needs {first}"
    if more:
        needs += f", by which it includes {count_noun(len(more), 'header')} more"
    return f"{needs}: -o FOLDER writes all of them.\n"


def render_hipify_json(report: HipifyReport, out: Path | None) -> str:
    """Return the JSON document, with a newline at its end."""
    found = list_sites(report)
    document = {
        "schema": SCHEMA,
        "engine": report.engine.value,
        "profile": report.profile,
        "out": None if out is None else out.as_posix(),
        "files": [{"path": t.path, "target": t.target} for t in report.translations],
        "refused": [{"path": r.path, "reason": r.reason} for r in report.refusals],
        "left_out": list(report.left_out),
        "written": list(report.written),
        "unchanged": list(report.unchanged),
        "sites": [{name: getattr(site, name) for name in _FIELDS} for site in found],
        "summary": {
            "files": len(report.translations),
            "refused": len(report.refusals),
            "sites": len(found),
            "applicability": count_by(found, lambda site: site.applicability.value),
            "codes": count_by(found, lambda site: site.code),
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def list_sites(report: HipifyReport) -> tuple[ReportedSite, ...]:
    """Return the findings of a run, sorted by path and position."""
    sources = {path: SourceFile(path, content) for path, content in report.sources.items()}
    found = [
        locate_finding(f, sources.get(f.path), i) for i, f in identify_findings(report.findings)
    ]
    return tuple(sorted(found, key=lambda s: (s.path, s.line, s.column, s.code, s.id)))


def _render_lines(report: HipifyReport, out: Path | None, terminal: Terminal) -> Iterator[str]:
    found = list_sites(report)
    by = report.engine.value + (f", profile {report.profile}" if report.profile else "")
    files = count_noun(len(report.translations), "file")
    yield terminal.bold(f"{files} by {by}: {count_noun(len(found), 'place')}")
    if found:
        yield ""
        yield from _render_counts(found, terminal)
    yield from _render_findings(report, found, terminal)
    yield ""
    yield from wrap_text(_render_outcome(report, out), terminal.width)


def _render_findings(
    report: HipifyReport, found: Sequence[ReportedSite], terminal: Terminal
) -> Iterator[str]:
    asking = (Applicability.MANUAL, Applicability.REVIEW)
    for title, wanted in group_by_state(site for site in found if site.applicability in asking):
        yield ""
        heading = f"{title} ({count_noun(len(wanted), 'place')})"
        yield from map(terminal.notable, wrap_text(heading, terminal.width))
        yield from render_grouped(wanted, terminal)
    if report.refusals:
        yield ""
        yield terminal.loud(f"Refused ({count_noun(len(report.refusals), 'file')})")
        for refusal in report.refusals:
            yield from wrap_text(f"  {refusal.path}: {refusal.reason}", terminal.width, "      ")


def _render_outcome(report: HipifyReport, out: Path | None) -> str:
    if out is None:
        return "Nothing is written; `-o FOLDER` writes the translations and their headers."
    headers = [path for path in report.written if path in report.headers]
    sources = [path for path in report.written if path not in report.headers]
    many = len(sources) > _NAMED or not sources
    done = count_noun(len(sources), "file") if many else ", ".join(sources)
    if headers:
        done += f" and {count_noun(len(headers), 'header')} ({', '.join(headers)})"
    done += f" written to {out}"
    if report.unchanged:
        done += f", {len(report.unchanged)} unchanged"
    if report.left_out:
        done += f"; not written, since a person must finish them: {', '.join(report.left_out)}"
    return f"{done}."


def _render_counts(found: Sequence[ReportedSite], terminal: Terminal) -> Iterator[str]:
    tally = Counter((site.code, site.applicability) for site in found)
    constructs: dict[str, Counter[str]] = {}
    for site in found:
        constructs.setdefault(site.code, Counter())[site.construct] += 1
    rows = [["Rule", "Construct", *_COLUMNS]]
    for code, named in sorted(constructs.items()):
        kinds = ", ".join(name for name, _ in sorted(named.items(), key=lambda n: (-n[1], n[0])))
        rows.append([code, kinds, *(str(tally[code, kind] or "") for kind in _COLUMNS.values())])
    totals = (sum(site.applicability is kind for site in found) for kind in _COLUMNS.values())
    rows.append(["", "total", *map(str, totals)])
    first, *body, last = align_columns(rows, numbers=len(_COLUMNS), width=terminal.width)
    yield terminal.dim(first)
    yield from body
    yield terminal.bold(last)


_OVERLOADS: Final = "by its name: hipcc says whether the overload that you call is there"

_KINDS: Final = {
    "data": "type, constant or macro",
    "lacking": "header",
    "group": "name of cooperative groups",
    "lanes": "name of cooperative groups",
    "member": "member of cooperative groups",
    "ptx": "PTX",
}
"""What kinds of names are called where the table's word says too little."""


def render_mapping(mapping: Mapping, terminal: Terminal) -> str:
    """Return the HIP name of a known name, its first release, and the source."""
    if not mapping.hip:
        becomes = terminal.notable("no counterpart in HIP")
    elif mapping.hip == mapping.cuda:
        becomes = "the same in HIP"
    else:
        becomes = terminal.good(mapping.hip)
    kind = _KINDS.get(mapping.kind, mapping.kind)
    since = f", since ROCm {mapping.since}" if mapping.since else ""
    lines = [f"{terminal.bold(mapping.cuda)} -> {becomes}", f"    {kind}{since}"]
    if mapping.kind == "function" and mapping.hip == mapping.cuda and mapping.source != "prelude":
        lines.append(f"    {_OVERLOADS}")
    if mapping.note:
        lines.append(f"    {mapping.note}")
    if mapping.source == "prelude":
        lines.append("    from the headers that portkit hipify writes (hipx*.h)")
    else:
        lines.append(f"    source: {mapping.source}")
    return "\n".join(lines) + "\n"


def render_unknown(lookup: Lookup) -> str:
    """Return a message about a name that the table lacks."""
    around = lookup.part_of
    if around is not None:
        note = f" ({around.note})" if around.note else ""
        return (
            f"{lookup.name} has no entry of its own; it belongs to {around.cuda}, which becomes"
            f" {around.hip}{note}\n"
        )
    names = f"; like it: {', '.join(lookup.similar)}" if lookup.similar else ""
    return f"{lookup.name} is no name of CUDA's that portkit knows{names}\n"
