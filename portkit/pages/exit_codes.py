"""The page ``docs/exit-codes.md``, made from the errors that a user can meet.

Usage: ``python -m portkit.pages.exit_codes > docs/exit-codes.md``; a test fails where it is stale.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from portkit.cli.command import CLOSED_PIPE, DEFECT, FOUND, INTERRUPTED
from portkit.errors import PortkitError
from portkit.verify.ladder import LEFT_OUT
from portkit.verify.steps import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS = {
    0: "All went well.",
    FOUND: (
        "Something was found: by `--check` a place that is not ported or a file that would change,"
        " by `apply --verify` a place that was taken back,"
        " by `apply --check`, `apply --diff`, `review`, `branch` and `update` a killed run that"
        " `apply` must end first, by `update` a conflict, by `branch --check` and `update --check`"
        " a branch that would be moved, by `repairs` one that does not fit the tree,"
        " by `hipify` a place that a person must write, by `map` a name that it does not know, by"
        " `doctor` what keeps a port from running, by `trial` a stage that failed."
    ),
    2: "Wrong usage: an unknown command, option, code or step.",
    LEFT_OUT: "`portkit verify --no-skip`: something cannot be looked at here; the rest passes.",
    DEFECT: "A defect of portkit; `PORTKIT_TRACEBACK=1` in the environment shows where.",
    129: "Ended by SIGHUP.",
    INTERRUPTED: "Interrupted from the keyboard.",
    CLOSED_PIPE: "The reader of the output went away.",
    143: "Ended by SIGTERM.",
}


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
        rows[step.code] = f"`portkit verify`: `{step.name}` failed, which asks that {step.shows}."
    lines = [
        "# Exit codes",
        "",
        "With any code from 10 to 70 standard error ends with one sentence: what is wrong, where,"
        " and what to do.",
        "",
        "| code | meaning |",
        "| ---: | --- |",
        *(f"| {code} | {meaning} |" for code, meaning in sorted(rows.items())),
    ]
    return "\n".join(lines) + "\n"


def _below(kind: type[PortkitError]) -> Iterator[type[PortkitError]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


if __name__ == "__main__":
    sys.stdout.write(page())
