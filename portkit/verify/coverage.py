"""The step that asks whether every mention of a backend is accounted for, and every place done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.verify.step_runner import Step, fail_step, pass_step
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from portkit.verify.ported_tree import PortedTree
    from portkit.verify.step_runner import Outcome
    from portkit.workspace.finding import Finding

_SHOWN: Final = 10


def check_coverage(tree: PortedTree) -> Outcome:
    """Scan the tree: what is unaccounted for, or still to do, is a hole in the port."""
    found = tree.scan
    todo = [finding for finding in found.findings if finding.status is Status.TODO]
    figures = {
        "places": len(found.findings),
        "todo": len(todo),
        "unaccounted": len(found.unaccounted),
    }
    evidence: list[str] = []
    if found.unaccounted:
        evidence.append(f"{len(found.unaccounted)} backend mentions are unaccounted for")
        evidence += _list_first([f"{u.path}:{u.line}" for u in found.unaccounted])
    if todo and not tree.options.unfinished:
        evidence.append(f"{len(todo)} places are still to do: `portkit apply` writes them")
        evidence += _list_first([_format_site(tree, finding) for finding in todo])
    if evidence:
        return fail_step(*evidence, figures=figures)
    later = f", {len(todo)} of them still to do" if todo else ""
    return pass_step(
        f"{len(found.findings)} places account for every backend mention{later}", figures=figures
    )


def _list_first(places: list[str]) -> list[str]:
    more = len(places) - _SHOWN
    return [*places[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _format_site(tree: PortedTree, finding: Finding) -> str:
    source = tree.scan.job.workspace.sources.get(finding.path)
    line = f":{source.position(finding.span.start)[0]}" if source is not None else ""
    return f"{finding.code} {finding.path}{line} {finding.symbol}".rstrip()


COVERAGE: Final = Step(
    "coverage", "every mention of a backend is accounted for", 41, check_coverage, looks=True
)
