"""What ``portkit verify`` says: a line for each step as it ends, or a document at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from portkit.report.terminal import wrapped
from portkit.verify.ladder import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.report.terminal import Terminal
    from portkit.verify.ladder import Result

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""


def step_lines(result: Result, terminal: Terminal) -> Iterator[str]:
    """Yield how one step went: its verdict and time, and the evidence below."""
    good = result.verdict is Verdict.PASSED
    verdict = terminal.good("passed") if good else terminal.loud("FAILED")
    yield f"{terminal.bold(result.step.ljust(10))} {verdict} in {result.seconds:.1f} s"
    for evidence in result.evidence:
        yield from wrapped(f"    {evidence}", terminal.width, "      ")


def verify_json(root: str, revision: str, results: Sequence[Result]) -> str:
    """Return the document, with a newline at its end; ``verify.schema.json`` describes it.

    Args:
        root: the workspace as the user named it, with ``/``.
        revision: the baseline that the user named, or empty.
        results: in the order of the steps.
    """
    every = all(result.verdict is Verdict.PASSED for result in results)
    document = {
        "schema": SCHEMA,
        "root": root,
        "baseline": revision,
        "verdict": (Verdict.PASSED if every else Verdict.FAILED).value,
        "steps": [
            {
                "step": result.step,
                "verdict": result.verdict.value,
                "seconds": round(result.seconds, 3),
                "evidence": list(result.evidence),
            }
            for result in results
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
