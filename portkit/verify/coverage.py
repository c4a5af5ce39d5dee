"""The step that asks whether every mention of a backend is accounted for, and every place done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.tree.finding import Status
from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from portkit.tree.finding import Finding
    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree

_SHOWN: Final = 10


def take(tree: Tree) -> Outcome:
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
        evidence += _first([f"{u.path}:{u.line}" for u in found.unaccounted])
    if todo and not tree.options.unfinished:
        evidence.append(f"{len(todo)} places are still to do: `portkit apply` writes them")
        evidence += _first([_place(tree, finding) for finding in todo])
    if evidence:
        return failed(*evidence, figures=figures)
    later = f", {len(todo)} of them still to do" if todo else ""
    return passed(
        f"{len(found.findings)} places account for every backend mention{later}", figures=figures
    )


def _first(places: list[str]) -> list[str]:
    more = len(places) - _SHOWN
    return [*places[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _place(tree: Tree, finding: Finding) -> str:
    source = tree.scan.job.workspace.sources.get(finding.path)
    line = f":{source.position(finding.span.start)[0]}" if source is not None else ""
    return f"{finding.code} {finding.path}{line} {finding.symbol}".rstrip()


COVERAGE: Final = Step(
    "coverage", "every mention of a backend is accounted for", 41, take, looks=True
)
