"""The reports of ``portkit verify``: lines, a summary, or a document."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from portkit import __version__
from portkit.report.terminal import align_columns, shorten_text, wrap_text
from portkit.verify.step_runner import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.report.terminal import Terminal
    from portkit.verify.options import Options
    from portkit.verify.step_runner import Result, Summary

SCHEMA: Final = 1
"""The version of the document; it grows when a reader of the old one would go wrong."""

_WORDS: Final = {verdict: verdict.value for verdict in Verdict} | {Verdict.FAILED: "FAILED"}
_COMMIT: Final = 12
_PASSED_LINES: Final = 6
"""How many lines of the evidence of a step that passed are shown."""


def render_step(result: Result, terminal: Terminal) -> Iterator[str]:
    """Yield how one step went: its verdict and time, and the evidence below."""
    if result.verdict is Verdict.NOT_TAKEN:
        return  # the summary names it
    when = "" if result.verdict is Verdict.SKIPPED else f" in {format_duration(result.seconds)}"
    if result.remembered:
        when += f" on {result.remembered[:16].replace('T', ' ')} UTC, nothing has changed since"
    verdict = _style_verdict(result.verdict, _WORDS[result.verdict], terminal)
    yield f"{terminal.bold(result.step.ljust(10))} {verdict}{when}"
    lines = list(result.evidence)
    # What passed is not read line by line; what failed, or was left out, is.
    more = len(lines) - _PASSED_LINES if result.verdict is Verdict.PASSED else 0
    if more > 1:
        lines[-more:] = [f"and {more} lines more, which --json writes"]
    for evidence in (*lines, *(f"left out: {r}" for r in result.outcome.left_out)):
        yield from wrap_text(f"    {evidence}", terminal.width, "      ")


def render_summary(summary: Summary, terminal: Terminal) -> Iterator[str]:
    """Yield one line for each step, and one for the run."""
    rows = [
        (
            _WORDS[result.verdict],
            result.step,
            format_duration(result.seconds) if result.seconds else "",
            result.evidence[0] if result.evidence else "",
        )
        for result in summary.results
    ]
    if len(rows) > 1:  # else the step's own lines say it all
        for result, line in zip(
            summary.results, align_columns(rows, width=terminal.width), strict=True
        ):
            yield _style_verdict(result.verdict, line, terminal)
    for left_out in summary.left_out:
        yield shorten_text(f"left out   {left_out}", terminal.width)
    counts = ", ".join(
        f"{number} {verdict.value}"
        for verdict in Verdict
        if (number := len(summary.named(verdict)))
    )
    against = f" against {summary.commit[:_COMMIT]}" if summary.commit else ""
    looked_at = f" ({summary.title}{against})" if summary.title else ""
    last = f"{_WORDS[summary.verdict]}: {counts} in {format_duration(summary.seconds)}{looked_at}"
    if len(rows) > 1:
        yield ""
    for line in wrap_text(last, terminal.width):
        yield _style_verdict(summary.verdict, line, terminal)


def format_duration(seconds: float) -> str:
    """Return a length of time as a person says it."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def render_verify_json(root: str, options: Options, summary: Summary) -> str:
    """Return the document, with a newline at its end; ``verify.schema.json`` describes it."""
    document = {
        "schema": SCHEMA,
        "portkit": __version__,
        "root": root,
        "title": summary.title,
        "baseline": options.revision,
        "commit": summary.commit,
        "shard": str(options.shard),
        "verdict": summary.verdict.value,
        "exit_code": summary.exit_code,
        "sentence": summary.sentence(root),
        "seconds": round(summary.seconds, 3),
        "left_out": list(summary.left_out),
        "steps": [_build_step(result) for result in summary.results],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _build_step(result: Result) -> dict[str, Any]:
    return {
        "step": result.step,
        "shows": result.shows,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 3),
        "remembered": result.remembered,
        "evidence": list(result.evidence),
        "left_out": list(result.outcome.left_out),
        "figures": dict(result.outcome.figures),
        "diagnostics": [asdict(diagnostic) for diagnostic in result.outcome.diagnostics],
        "tests": [asdict(test) for test in result.outcome.tests],
    }


def _style_verdict(verdict: Verdict, text: str, terminal: Terminal) -> str:
    if verdict is Verdict.PASSED:
        return terminal.good(text)
    if verdict is Verdict.FAILED:
        return terminal.loud(text)
    return terminal.notable(text)
