"""Remove from a scan what the checks refuse, and what depends on it.

What a check refuses is not written: the finding becomes manual, with the reason. The tree is
checked again without it, since other findings may need what it would have written. This ends when
nothing more is refused.
"""

from __future__ import annotations

from msgspec.structs import replace

from portkit.checks import CHECKS, DOUBTS, PortedTree
from portkit.engine.partial_ports import add_error_arms, find_missing_variants
from portkit.engine.scan import Scan, sort_key
from portkit.port.review_checks import join_messages
from portkit.workspace.finding import Applicability, Finding, Status, no_files

_VARIANT = (
    "This names the variant {variant}, which portkit does not write. No build would compile."
    " Write both by hand."
)


def apply_checks(scan: Scan) -> Scan:
    """Return a scan in which everything that is to be written passes all checks."""
    ported = scan.ported.with_findings(scan.findings)
    refused: dict[int, Finding] = {}
    reasons: dict[int, str] = {}
    while found := _find_refused(scan, ported):
        for finding, reason in found:
            refused[id(finding)] = finding
            reasons.setdefault(id(finding), reason)
        ported = ported.without(refused.values())
    doubted = _apply_doubts(ported)
    for source in scan.job.workspace.sources.values():
        source.forget()  # the trees that the checks have parsed
    scan.ported.forget()
    if not refused:
        return scan if doubted is ported.findings else replace(scan, findings=doubted)
    # An arm that rustc misses in every build answers with an error in its stead.
    rest = add_error_arms(scan, replace(scan, findings=doubted), "it is for you to write")
    answered = {f.place for f in rest.findings}
    manual = [
        _make_manual(finding, reasons[number])
        for number, finding in refused.items()
        if finding.place not in answered
    ]
    return replace(scan, findings=tuple(sorted((*rest.findings, *manual), key=sort_key)))


def _find_refused(scan: Scan, ported: PortedTree) -> list[tuple[Finding, str]]:
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
    """Return the findings of a tree, with doubtful ones marked for review."""
    reasons: dict[int, list[str]] = {}
    for doubt in DOUBTS:
        for each in doubt(ported):
            said = (each.finding.message, *reasons.get(id(each.finding), ()))
            if not any(each.reason in known for known in said):
                reasons.setdefault(id(each.finding), []).append(each.reason)
    if not reasons:
        return ported.findings
    return tuple(
        replace(
            finding,
            applicability=Applicability.REVIEW,
            message=join_messages(finding.message, *reasons[id(finding)]),
        )
        if id(finding) in reasons
        else finding
        for finding in ported.findings
    )


def _make_manual(finding: Finding, reason: str) -> Finding:
    return replace(
        finding,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message=reason,
        edits=(),
        files=no_files,
        outdated=False,
    )
