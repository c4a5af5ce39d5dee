"""Remove from a scan what the checks refuse, and what depends on it.

What a check refuses is not written: the finding becomes manual, with the reason. The tree is
checked again without it, since other findings may need what it would have written. This ends when
nothing more is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from portkit.checks import CHECKS, DOUBTS, PortedTree
from portkit.engine.partial_ports import find_missing_variants, restore_required_arms
from portkit.engine.scan import Scan, sort_key
from portkit.port.review_reasons import join_messages
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Place

_VARIANT = (
    "This names the variant {variant}, which portkit does not write. No build would compile."
    " Write both by hand."
)

_UNTIL = "Until then an arm answers with an error."

_Refused = tuple[Finding, str]
"""A finding that a check refuses, and the reason."""


def apply_checks(scan: Scan) -> Scan:
    """Return a scan in which everything that is to be written passes all checks."""
    ported, refused = _remove_refused(scan, scan.ported.with_findings(scan.findings))
    answered: set[Place] = set()
    if refused:
        # An arm that rustc misses in every build answers with an error in its stead.
        reasons = {finding.place: reason for finding, reason in refused}
        left = replace(scan, findings=ported.findings)
        rest = restore_required_arms(scan, left, "it is for you to write", foreign=True).findings
        explained = tuple(_explain_error_arm(f, reasons.get(f.place, "")) for f in rest)
        # The checks may refuse such an arm too, if its variant is what is missing.
        ported, again = _remove_refused(scan, ported.with_findings(explained))
        answered = {f.place for f in ported.findings if f.place in reasons}
        refused += [each for each in again if each[0].place not in reasons]
    doubted = _apply_doubts(ported)
    manual = [
        _move_to_match(scan, finding).to_manual(reason)
        for finding, reason in refused
        if finding.place not in answered
    ]
    for source in scan.job.workspace.sources.values():
        source.forget()  # the trees that the checks have parsed
    scan.ported.forget()
    if not refused:
        return scan if doubted is ported.findings else replace(scan, findings=doubted)
    return replace(scan, findings=tuple(sorted((*doubted, *manual), key=sort_key)))


def _remove_refused(scan: Scan, ported: PortedTree) -> tuple[PortedTree, list[_Refused]]:
    """Return the tree without the findings that the checks refuse, and these findings."""
    refused: dict[int, _Refused] = {}
    while found := _find_refused(scan, ported):
        for finding, reason in found:
            refused.setdefault(id(finding), (finding, reason))
        ported = ported.without(finding for finding, _ in found)
    return ported, [*refused.values()]


def _explain_error_arm(finding: Finding, reason: str) -> Finding:
    """Return a finding; one whose arm answers with an error says why, and is for review."""
    if not reason:
        return finding
    message = f"{reason} {_UNTIL}"
    return replace(finding, applicability=Applicability.REVIEW, message=message)


def _find_refused(scan: Scan, ported: PortedTree) -> list[_Refused]:
    """Return the findings that the first check with something to say refuses, with the reason."""
    rest = replace(scan, findings=ported.findings)
    reason = _VARIANT.format(variant=scan.job.vendor.variant)
    # A variant that the user has excluded is theirs to judge: `apply` says which code names it.
    known = {*map(id, find_missing_variants(scan, scan))}
    if found := [(f, reason) for f in find_missing_variants(scan, rest) if id(f) not in known]:
        return found
    for check in CHECKS:
        if found := [(f, each.reason) for each in check(ported) for f in each.findings]:
            return found
    return []


def _apply_doubts(ported: PortedTree) -> tuple[Finding, ...]:
    """Return the findings of a tree; those that a person should look at are for review.

    A finding that is for review may cast doubt on others, so the tree is read until none is added.
    """
    while reasons := _find_doubts(ported):
        doubted = [f for f in ported.findings if id(f) in reasons]
        ported = ported.with_replaced({id(f): _apply_reasons(f, reasons[id(f)]) for f in doubted})
    return ported.findings


def _find_doubts(ported: PortedTree) -> dict[int, list[str]]:
    """Return the reasons to look at findings that their messages do not give, by `id`."""
    written = {*map(id, ported.findings)}
    reasons: dict[int, list[str]] = {}
    for doubt in DOUBTS:
        for each in doubt(ported):
            said = (each.finding.message, *reasons.get(id(each.finding), ()))
            is_new = not any(each.reason in known for known in said)
            if is_new and id(each.finding) in written:
                reasons.setdefault(id(each.finding), []).append(each.reason)
    return reasons


def _apply_reasons(finding: Finding, reasons: Sequence[str]) -> Finding:
    message = join_messages(finding.message, *reasons)
    return replace(finding, applicability=_weaken(finding.applicability), message=message)


def _weaken(applicability: Applicability) -> Applicability:
    """Return the applicability of a finding that a doubt concerns; manual stays manual."""
    is_manual = applicability is Applicability.MANUAL
    return applicability if is_manual else Applicability.REVIEW


def _move_to_match(scan: Scan, finding: Finding) -> Finding:
    """Return the finding of an arm that its match needs, from the match on, as rustc reports it."""
    if not finding.error_edits:
        return finding
    root = scan.job.workspace.sources[finding.path].tree_around([finding.span.start]).root_node
    node = root.descendant_for_byte_range(finding.span.start, finding.span.start)
    while node is not None and node.type != "match_expression":
        node = node.parent
    start = finding.span.start if node is None else min(node.start_byte, finding.span.start)
    return replace(finding, span=Span(start, finding.span.end))
