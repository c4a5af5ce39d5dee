"""The step that asks whether every mention of a backend is accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.finding import Status
from portkit.verify.ladder import Step, failed, passed

if TYPE_CHECKING:
    from portkit.verify.ladder import Outcome
    from portkit.verify.tree import Tree


def take(tree: Tree) -> Outcome:
    """Scan the tree; a place that is still to do is accounted for, and mentioned."""
    found = tree.scan
    todo = sum(finding.status is Status.TODO for finding in found.findings)
    evidence = [f"{todo} places are still to do"] if todo else []
    if found.unaccounted:
        mentions = [f"{u.path}:{u.line}" for u in found.unaccounted]
        return failed(f"{len(mentions)} backend mentions are unaccounted for", *mentions, *evidence)
    return passed(f"{len(found.findings)} places account for every backend mention", *evidence)


COVERAGE: Final = Step("coverage", "every mention of a backend is accounted for", take)
