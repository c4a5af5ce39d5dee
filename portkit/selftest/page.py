"""The file of a trial: a page for a person, with the document in it for a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import DiskError
from portkit.report.html.page import embed_json, make_environment, read_style
from portkit.selftest.document import DEVICES, read_rates
from portkit.workspace.regular_files import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER: Final = Path(__file__).parent


def render_page(found: Mapping[str, Any]) -> str:
    """Return the page."""
    template = make_environment(_FOLDER).get_template("trial.html.j2")
    tests = [(step["step"], test) for step in found["steps"] for test in step["tests"]]
    return template.render(
        trial=found,
        device=DEVICES[found["device"]],
        counts={
            verdict: sum(step["verdict"] == verdict for step in found["steps"])
            for verdict in ("passed", "failed", "skipped", "interrupted", "not taken")
        },
        rates=read_rates(dict(found)),
        lost=[test for _, test in tests if test["result"] not in ("ok", "ignored")],
        style=read_style(),
        data=embed_json(found),
    )


def write_atomically(place: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        replace_file(place, text.encode())
    except OSError as error:
        raise DiskError(
            f"the report could not be written to {place} ({error.strerror}): name another file with"
            " --report"
        ) from None
