"""``portkit explain`` and ``portkit rules``: what the codes of a report mean."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from portkit.cli.command import command
from portkit.cli.options import complete_codes
from portkit.cli.output import screen, show


@command("portkit explain PK301", "portkit explain PK401 PH203")
def explain(
    codes: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE...",
            help="Such as PK301 or PH203, or a place's identity, PK301-1f0c9a2b.",
            autocompletion=complete_codes,
        ),
    ],
) -> None:
    """Print what a code means.

    What the rule finds, why ROCm needs it, and its limits.
    """
    from portkit.explain import every_page

    shown = screen()
    known = {page.code: page for page in every_page()}
    for number, code in enumerate(codes):
        page = known.get(code.upper().partition("-")[0])  # a place's identity begins with its code
        if page is None:
            raise typer.BadParameter(f"there is no code {code!r}; `portkit rules` lists them")
        text = "\n\n".join(part for part in (page.title, page.text) if part).replace("``", "`")
        heading = shown.bold(f"{page.code} {page.name}")
        show("\n" * (number > 0) + f"{heading}\n\n{text}")


@command("portkit rules")
def rules() -> None:
    """List the codes that a report can name."""
    from portkit.explain import every_page
    from portkit.report.terminal import columns

    rows = [(page.code, page.name, page.title.replace("``", "`")) for page in every_page()]
    # A line is cut for a window alone: what reads a pipe has room.
    width = screen().width if sys.stdout.isatty() else sys.maxsize
    show("\n".join(columns(rows, width=width)))
