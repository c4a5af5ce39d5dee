"""``portkit doctor``: what a machine lacks to run a port on its GPU."""

from __future__ import annotations

from typing import Annotated

import typer

from portkit.cli.command import FOUND, command
from portkit.cli.output import screen, show


@command(
    "portkit doctor",
    "portkit doctor --json",
)
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print a document for programs.")] = False,
) -> int:
    """Say what this machine lacks to run a port on its AMD GPU, and how to mend it.

    It looks at files and variables and opens the device files; it starts no program and changes
    nothing. The exit code is 1 where something keeps a port from running.
    """
    from portkit.doctor.diagnosis import diagnose
    from portkit.doctor.machine import Machine
    from portkit.report.diagnosed import diagnosis_json, diagnosis_text

    found = diagnose(Machine.here())
    show(diagnosis_json(found) if json else diagnosis_text(found, screen()), end="")
    return FOUND if found.problems else 0
