"""``portkit doctor``: what a machine lacks to run a port on its GPU."""

from __future__ import annotations

from typing import Annotated

from portkit.cli.command import FOUND, make_command
from portkit.cli.options import option
from portkit.cli.output import open_screen, print_text


@make_command("portkit doctor", "portkit doctor --json")
def doctor(
    json: Annotated[bool, option("--json", "Print a document for programs.")] = False,
) -> int:
    """List what this machine lacks to run a port on its AMD GPU, with solutions.

    It looks at files and variables and opens the device files; it starts no program and changes
    nothing. The exit code is 1 where something keeps a port from running.
    """
    from portkit.doctor.diagnosis import diagnose
    from portkit.doctor.machine import Machine
    from portkit.report.doctor_report import render_diagnosis, render_diagnosis_json

    found = diagnose(Machine.here())
    print_text(
        render_diagnosis_json(found) if json else render_diagnosis(found, open_screen()), end=""
    )
    return FOUND if found.problems else 0
