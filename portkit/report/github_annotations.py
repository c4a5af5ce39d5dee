"""Annotate the lines of a diff by workflow commands of GitHub Actions.

The form: "Workflow commands for GitHub Actions" in GitHub's documentation; the escapes are those of
``@actions/core`` (``command.ts``). GitHub shows at most ten annotations of a kind for a step, so no
more are written, the most pressing first.
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Final

from portkit.report.model import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from portkit.report.model import Report

SHOWN: Final = 10
"""How many annotations of one kind GitHub shows for a step."""
_KINDS: Final[Mapping[State, str]] = {
    State.MANUAL: "error",
    State.REVIEW: "notice",
    State.MECHANICAL: "warning",
}


def is_in_workflow() -> bool:
    """Whether this run is a step of a workflow of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def render_annotations(report: Report) -> str:
    """Return the commands, a line each; empty where there is nothing to annotate."""
    return "".join(f"{line}\n" for line in _render_lines(report))


def _render_lines(report: Report) -> Iterator[str]:
    for mention in report.unaccounted[:SHOWN]:
        where = {"file": mention.path, "line": mention.line, "title": "unaccounted"}
        yield _render_command("error", where, "no rule explains this mention of a backend")
    pressing = sorted(
        (site for site in report.sites if site.state in _KINDS),
        key=lambda site: list(State).index(site.state),
    )
    for state, group in groupby(pressing, key=lambda site: site.state):
        sites = list(group)
        for site in sites[:SHOWN]:
            where = {
                "file": site.path,
                "line": site.line,
                "endLine": site.end_line,
                "title": f"{site.code} {site.construct}",
            }
            yield _render_command(_KINDS[state], where, site.message)
        if len(sites) > SHOWN:
            yield _render_command(
                "notice", {}, f"portkit: {len(sites) - SHOWN} more places: {state}"
            )


def _render_command(kind: str, properties: Mapping[str, object], message: str) -> str:
    listed = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
    return f"::{kind}{f' {listed}' if listed else ''}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
