"""The report of ``portkit doctor``, as text or as a document."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from portkit import __version__
from portkit.doctor.complaints import Level
from portkit.report.terminal import align_columns, escape_line, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.doctor.diagnosis import Diagnosis
    from portkit.report.terminal import Terminal

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""

_INDENT: Final = "    "


def render_diagnosis(diagnosis: Diagnosis, terminal: Terminal) -> str:
    """Return the facts, and each missing thing with its fix."""
    return "\n".join(_render_lines(diagnosis, terminal)) + "\n"


def build_diagnosis_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the document; ``doctor.schema.json`` describes it."""
    return {
        "schema": SCHEMA,
        "portkit": __version__,
        "problems": diagnosis.problems,
        "facts": dict(diagnosis.facts),
        "complaints": [asdict(complaint) for complaint in diagnosis.complaints],
    }


def render_diagnosis_json(diagnosis: Diagnosis) -> str:
    """Return the document as text, with a newline at its end."""
    return json.dumps(build_diagnosis_document(diagnosis), indent=1, ensure_ascii=False) + "\n"


def _render_lines(diagnosis: Diagnosis, terminal: Terminal) -> Iterator[str]:
    yield from align_columns(list(diagnosis.facts.items()), width=terminal.width)
    for complaint in diagnosis.complaints:
        yield ""
        loud = terminal.loud if complaint.level is Level.PROBLEM else terminal.notable
        head, *rest = wrap_text(
            escape_line(f"{complaint.level}: {complaint.what}."), terminal.width, _INDENT
        )
        yield loud(head)
        yield from map(loud, rest)
        mend = f"{complaint.mend[:1].upper()}{complaint.mend[1:]}."
        yield from wrap_text(f"{_INDENT}{escape_line(mend)}", terminal.width, _INDENT)
        yield terminal.dim(f"{_INDENT}{complaint.source}")
    yield ""
    yield _render_verdict(diagnosis, terminal)


def _render_verdict(diagnosis: Diagnosis, terminal: Terminal) -> str:
    problems, doubts = diagnosis.problems, len(diagnosis.complaints) - diagnosis.problems
    told = [
        f"{number} {word}{'' if number == 1 else 's'}"
        for number, word in ((problems, "problem"), (doubts, "doubt"))
        if number
    ]
    if problems:
        return terminal.loud(f"{' and '.join(told)}: a port does not run on a GPU here yet.")
    if doubts:
        return terminal.notable(f"{told[0]}, and nothing that keeps a port from running.")
    return terminal.good("Nothing is missing that can be seen from files.")
