"""Partial ports: excluded findings must not break a build that compiled before.

Of what a person leaves out (by a comment, in ``portkit.toml``, by codes, by an answer) one kind is
missed by rustc in every build: the arm of a ``match`` without a wildcard on an enum that gains a
variant. Such an arm is written, and answers with an error (`portkit.port.error_arms`). To refuse
instead would leave no way to port a tree in part, since nearly every crate has such a ``match``.

The reverse is refused: what names a variant that is left out compiles nowhere, and nothing could be
written in its stead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import Final

from msgspec.structs import replace

from portkit.checks.manifests import find_namers, ported_manifests
from portkit.context.port_job import Gating
from portkit.engine.scan import Scan, sort_key
from portkit.errors import PlanError
from portkit.port import error_arms
from portkit.rules import manifest_features, named_items
from portkit.transaction.change import Change
from portkit.workspace.cargo_resolution import FILE, CargoFault
from portkit.workspace.cargo_workspace import Workspace
from portkit.workspace.finding import Applicability, Finding, Place, Status
from portkit.workspace.manifest import read_manifest

_ELSEWHERE: Final = "portkit was asked to write other places alone"
_SHOWN: Final = 10  # How many places an error lists.


def restore_required_arms(
    whole: Scan, chosen: Scan, why: str = _ELSEWHERE, *, foreign: bool = False
) -> Scan:
    """Return the chosen findings of a scan, with an arm that returns an error if one is needed.

    Args:
        whole: the scan of the tree.
        chosen: the same with only the findings that are to be written.
        why: why a site is left out that no user has excluded.
        foreign: whether enums of other crates count too; their ports give them the variant.
    """
    places = {f.place for f in chosen.findings}
    variants = _find_variants(whole, places)
    errors = {
        f.place: _exclude_arm(f, f.reason or f.message if f.excluded else why)
        for f in whole.findings
        if f.error_edits
        and (f.excluded or (f.place not in places and f.status is Status.TODO))
        and _is_compiled(whole, places, f)
        and any(variants.get(name, foreign) for name in _find_arm_enums(whole, f))
    }
    errors = {place: f for place, f in errors.items() if not _is_written(whole, f)}
    kept = [
        replace(f, status=Status.NONE, edits=()) if f.excluded and f.error_edits else f
        for f in chosen.findings
        if f.place not in errors
    ]
    return replace(chosen, findings=tuple(sorted((*kept, *errors.values()), key=sort_key)))


def _exclude_arm(finding: Finding, reason: str) -> Finding:
    """Return the finding of an arm that is left out by one that answers with an error."""
    message = f"left out by an arm that answers with an error: {reason}"
    arm = error_arms.write_error_arm(finding, reason)
    return replace(arm, applicability=Applicability.KEEP, message=message)


def check_variants(whole: Scan, chosen: Scan) -> None:
    """Refuse edits that name an excluded variant."""
    found = find_missing_variants(whole, chosen)
    if found:
        raise PlanError(
            f"the variant {whole.job.vendor.variant} of"
            f" {', '.join(_find_dropped_enums(whole, chosen))} is left"
            f" out ({named_items.ENUM_VARIANT.code}), and what would be written names it, so that"
            f" no build would compile: write it too, or leave out {list_places(whole, found)}"
        )


def find_missing_variants(whole: Scan, chosen: Scan) -> list[Finding]:
    """Return the chosen findings that name a missing variant."""
    gone = _find_dropped_enums(whole, chosen)
    if not gone or whole.job.gating is Gating.CFG:
        return []  # under the feature nothing is missed where that is off
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, gone))})::{whole.job.vendor.variant}\b")
    return [
        f
        for f in chosen.findings
        if f.status is Status.TODO
        and (
            any(named.search(edit.text) for edit in f.edits)
            or (
                f.error_edits
                and not f.excluded
                and any(name in gone for name in _find_arm_enums(whole, f))
            )
        )
    ]


def list_places(whole: Scan, findings: Sequence[Finding]) -> str:
    """List the positions of the first findings, in words."""
    more = f" and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    sources = whole.job.workspace.sources
    lines = (f"{f.path}:{sources[f.path].position(f.span.start)[0]}" for f in findings[:_SHOWN])
    codes = (f.code for f in findings)
    return ", ".join(f"{line} ({code})" for line, code in zip(lines, codes, strict=False)) + more


def _find_dropped_enums(whole: Scan, chosen: Scan) -> list[str]:
    """Return the enums whose variant is excluded, sorted."""
    variants = _find_variants(whole, {f.place for f in chosen.findings})
    return sorted(name for name, has in variants.items() if not has)


def _find_variants(whole: Scan, chosen: Set[Place]) -> dict[str, bool]:
    """Return the enums with a variant of the source's, and if they have the written one then."""
    found: dict[str, bool] = {}
    for f in whole.findings:
        if f.code == named_items.ENUM_VARIANT.code:
            written = f.status is Status.TODO and not f.excluded and f.place in chosen
            for name in f.types:
                found[name] = found.get(name, False) or written or f.status is Status.PORTED
    return found


def _find_arm_enums(whole: Scan, finding: Finding) -> list[str]:
    """Return the enums that an arm is about, by the names that they are declared under."""
    text = whole.job.workspace.sources[finding.path].data.decode(errors="replace")
    found = []
    for name in finding.types:
        alias = re.search(rf"\b(\w+)\s+as\s+{name}\b|\btype\s+{name}\s*=\s*(?:\w+::)*(\w+)", text)
        found.append((alias[1] or alias[2]) if alias else name)
    return found or re.findall(r"\b(\w+)::(?:\*|\{)", text)


def _is_written(whole: Scan, finding: Finding) -> bool:
    """Whether the arm that a finding would add stands right before or after its place."""
    data = whole.job.workspace.sources[finding.path].data
    return any(
        data[edit.end :].lstrip().startswith(text) or data[: edit.start].rstrip().endswith(text)
        for edit in finding.edits
        if (text := edit.text.strip().encode())
    )


def _is_compiled(whole: Scan, chosen: Set[Place], finding: Finding) -> bool:
    """Whether an arm would be compiled in any build: not under a feature that its crate lacks."""
    job = whole.job
    crate = job.workspace.crate_of(finding.path)
    if job.gating is not Gating.CFG or crate is None or job.feature in crate.features:
        return True
    manifest = f"{crate.directory}/Cargo.toml".removeprefix("./")
    return any(
        f.path == manifest and f.code == manifest_features.FEATURE.code and f.status is Status.TODO
        for f in whole.findings
        if f.place in chosen and not f.excluded
    )


def check_manifests(whole: Scan, chosen: Scan, changes: Sequence[Change]) -> None:
    """Refuse a manifest that names something excluded."""
    if found := find_left_out(whole, chosen, changes):
        named = ", ".join(f"the {each.kind} {each.name}" for each in found)
        raise PlanError(
            f"{named} would be named and not be there, so that cargo would load no manifest of the"
            f" tree: write {'them' if len(found) > 1 else 'it'} too, or leave out"
            f" {list_places(chosen, find_naming(chosen, found))}"
        )


def find_left_out(whole: Scan, chosen: Scan, changes: Iterable[Change]) -> list[CargoFault]:
    """Return the excluded things that manifests would name, each once.

    What would not be there after the whole port either is no concern of who chooses.
    """
    written = {f.place for f in chosen.findings if f.status is Status.TODO and not f.excluded}
    left = {
        name
        for f in whole.findings
        if f.excluded or (f.status is Status.TODO and f.place not in written)
        for name in (f.path, f.symbol)
    }
    if not left:
        return []
    return [
        each
        for each in find_missing_names(whole.job.workspace, changes)
        if any(name == each.where or name.startswith(f"{each.where}/") for name in left)
    ]


def find_missing_names(workspace: Workspace, changes: Iterable[Change]) -> list[CargoFault]:
    """Return the missing things that changed manifests would name, each once."""
    texts = {change.path: change.after for change in changes}
    written = {path: read_manifest(text) for path, text in texts.items() if path.endswith(FILE)}
    before = workspace.manifests
    after = ported_manifests(workspace, written, texts.__contains__)
    return sorted(after.faults - before.faults)


def find_naming(chosen: Scan, found: Iterable[CargoFault]) -> list[Finding]:
    """Return the chosen findings that name something missing."""
    out: dict[int, Finding] = {}
    for each in found:
        here = [f for f in chosen.findings if f.path == each.path and f.status is Status.TODO]
        out |= {id(f): f for f in find_namers(here, each) or here}
    return list(out.values())
