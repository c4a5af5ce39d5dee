"""The page ``docs/exit-codes.md``, made from the errors that a user can meet.

Usage: ``python -m tools.pages.exit_codes > docs/exit-codes.md``; a test fails where it is stale.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from portkit.cli.command import CLOSED_PIPE, DEFECT, FOUND, INTERRUPTED
from portkit.errors import PortkitError
from portkit.verify.step_runner import LEFT_OUT
from portkit.verify.steps import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS = {
    0: "Success.",
    FOUND: "The command found something; [see below](#exit-code-1).",
    2: "Wrong usage: an unknown command, option, code or step.",
    LEFT_OUT: "`portkit verify --no-skip`: a check was skipped; the others passed.",
    DEFECT: "A defect of portkit; `PORTKIT_TRACEBACK=1` in the environment shows the traceback.",
    129: "Ended by SIGHUP.",
    INTERRUPTED: "Interrupted from the keyboard.",
    CLOSED_PIPE: "The reader of the output closed it.",
    143: "Ended by SIGTERM.",
}
_FINDINGS = {
    "`--check`": "a finding that is not ported, or a file that would change",
    "`apply`": "a finding that was taken back because it did not type-check",
    "`apply --check`, `apply --diff`, `review`, `branch`, `update`": (
        "an interrupted run; run `apply` to recover"
    ),
    "`update`": "a conflict",
    "`branch --check`, `update --check`": "a branch that would be moved",
    "`repairs`": "a repair that does not fit the tree",
    "`hipify`": "a manual finding",
    "`map`": "an unknown name",
    "`doctor`": "a problem that keeps a port from running",
    "`trial`": "a stage that failed",
}
"""What exit code 1 means for each command."""


def kinds() -> tuple[type[PortkitError], ...]:
    """Return the kinds of failure, sorted by exit code."""
    import_module("portkit.hipify.errors")  # a class must exist to be found
    return tuple(sorted(_below(PortkitError), key=lambda kind: kind.exit_code))


def page() -> str:
    """Return the page."""
    rows = dict(_OTHERS)
    for kind in kinds():
        rows[kind.exit_code] = f"`{kind.__name__}`: {(kind.__doc__ or '').splitlines()[0]}".replace(
            "``", "`"
        )
    for step in STEPS:
        rows[step.code] = f"`portkit verify`: `{step.name}` failed. It checks that {step.shows}."
    lines = [
        "# Exit codes",
        "",
        "With exit codes 10 to 70, standard error ends with one sentence: the error, its place and"
        " your action.",
        "",
        "| code | meaning |",
        "| ---: | --- |",
        *(f"| {code} | {meaning} |" for code, meaning in sorted(rows.items())),
        "",
        "## Exit code 1",
        "",
        "| command | found |",
        "| --- | --- |",
        *(f"| {command} | {found} |" for command, found in _FINDINGS.items()),
    ]
    return "\n".join(lines) + "\n"


def _below(kind: type[PortkitError]) -> Iterator[type[PortkitError]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


if __name__ == "__main__":
    sys.stdout.write(page())
