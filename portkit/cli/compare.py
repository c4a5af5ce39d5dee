"""``portkit diff``: what changed between two scans."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from portkit.cli.command import FOUND, make_command
from portkit.cli.options import Output, option
from portkit.cli.output import open_screen, plain_terminal, write_report


class DiffForm(StrEnum):
    """The forms of a comparison."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


@make_command(
    "portkit diff old.json new.json",
    "portkit diff old.json new.json --format markdown --output changes.md",
    "portkit diff old.json new.json --check",
)
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD.json", help="The older scan, as JSON.")],
    new: Annotated[Path, typer.Argument(metavar="NEW.json", help="The newer scan, as JSON.")],
    form: Annotated[DiffForm, option("--format", "The comparison's form.")] = DiffForm.TABLE,
    output: Output = None,
    check: Annotated[
        bool, option("--check", "Exit with 1 if a place is new, gone or changed.")
    ] = False,
) -> int:
    """Compare two scans: which findings are new, gone, moved or changed.

    The scans are what `portkit scan --format json` wrote, of two versions of a codebase or of one
    tree at two times.
    """
    from portkit.report import compare
    from portkit.report.stored_reports import read_scan

    found = compare.compare_scans(read_scan(old), read_scan(new))
    if form is DiffForm.JSON:
        text = compare.render_comparison_json(found)
    elif form is DiffForm.MARKDOWN:
        text = compare.render_comparison_markdown(found)
    else:
        text = compare.render_comparison_text(found, plain_terminal() if output else open_screen())
    write_report(text, output)
    return FOUND if check and found.differences else 0
