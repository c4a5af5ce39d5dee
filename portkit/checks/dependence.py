"""An edit whose result depends on a finding for review is for review as well.

What is for review may be declined. Then a mechanical edit must still be right: it names nothing
that only a declined edit would write, and uses nothing under a condition that only it would widen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.gated_members import check_gated_members
from portkit.checks.names import check_names
from portkit.checks.ported_tree import Doubt
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.checks.ported_tree import PortedTree
    from portkit.workspace.finding import Finding

_DEPENDS: Final = (
    "It uses `{name}`, which another finding writes, and that one is for review. Decide both"
    " together"
)
_DEFINED: Final = re.compile(
    r"\b(?:fn|struct|enum|union|trait|type|mod|const|static)\s+(?:mut\s+)?(?:r#)?(\w+)"
    r"|^\s*pub(?:\([^)]*\))?\s+(\w+)\s*:(?!:)",
    re.MULTILINE,
)
_WORD: Final = re.compile(r"\w+")


def doubt_dependence(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at an edit that needs another one which is for review.

    Args:
        ported: the tree after the port.
    """
    declined = [f for f in ported.todo if _is_declinable(f)]
    pending = declined
    while pending and _may_be_used(ported, pending):
        sure = ported.without(declined)
        found = {
            id(finding): Doubt(finding, _DEPENDS.format(name=refusal.name))
            for check in (check_names, check_gated_members)
            for refusal in check(sure)
            for finding in refusal.findings
            if finding.applicability is Applicability.SAFE
        }
        yield from found.values()
        pending = [doubt.finding for doubt in found.values()]
        declined += pending


def _is_declinable(finding: Finding) -> bool:
    """Whether a person may still decline what a finding writes in a Rust file."""
    is_rust = finding.path.endswith(".rs") and bool(finding.edits)
    return is_rust and finding.applicability is Applicability.REVIEW and not finding.looked_at


def _may_be_used(ported: PortedTree, declined: Iterable[Finding]) -> bool:
    """Whether a mechanical edit has a word that only declined edits define.

    Few do, and a second reading of the tree takes long.
    """
    sure = [
        f for f in ported.todo if f.applicability is Applicability.SAFE and f.path.endswith(".rs")
    ]
    defined = {*_list_defined(ported, declined)} - {*_list_defined(ported, sure)}
    return any(not defined.isdisjoint(_WORD.findall(edit.text)) for f in sure for edit in f.edits)


def _list_defined(ported: PortedTree, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the names of ROCm that findings define, or that a condition they write may gate."""
    sources = ported.job.workspace.sources
    for f in findings:
        original = [sources[f.path].slice(f.span)] if f.path in sources else []
        for text in (*(edit.text for edit in f.edits), *original):
            names = (next(filter(None, found)) for found in _DEFINED.findall(text))
            yield from filter(ported.job.mentions_rocm, names)
