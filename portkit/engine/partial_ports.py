"""Ports in part: what is left out must not break a build that compiled before.

Of what a person leaves out (by a comment, in ``portkit.toml``, by codes, by an answer) one kind is
missed by rustc in every build: the arm of a ``match`` without a wildcard on an enum that gains a
variant. Such an arm is written, and answers with an error (`portkit.port.error_arms`). To refuse
instead would leave no way to port a tree in part, since nearly every crate has such a ``match``.

The reverse is refused: what names a variant that is left out compiles nowhere, and nothing could be
written in its stead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.context.port_job import Gating
from portkit.engine.scan import sort_key
from portkit.errors import PlanError
from portkit.port import error_arms
from portkit.rules import manifest_features, named_items
from portkit.workspace.finding import Finding, Status

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from portkit.engine.scan import Scan
    from portkit.syntax.span import Span

Place = tuple[str, str, "Span"]
"""What names a place within one scan: the path, the code and the span."""
_ELSEWHERE: Final = "portkit was asked to write other places alone"
_SHOWN: Final = 10
"""How many places an error lists."""


def add_error_arms(whole: Scan, chosen: Scan, why: str = _ELSEWHERE) -> Scan:
    """Return what is chosen of a scan, with an arm that answers with an error where one is needed.

    Args:
        whole: the scan of the tree, what people except told apart.
        chosen: the same with the places alone that are to be written.
        why: why a place is left out that no person has left out.
    """
    places = {locate_partial_port(f) for f in chosen.findings}
    variants = _variants(whole, places)
    errors = {
        locate_partial_port(f): error_arms.exclude_with_error_arm(
            f, f.reason or f.message if f.excluded else why
        )
        for f in whole.findings
        if f.instead
        and (f.excluded or (locate_partial_port(f) not in places and f.status is Status.TODO))
        and _is_compiled(whole, places, f)
        and any(variants.get(name) for name in _enums(whole, f))
    }
    kept = [
        replace(f, status=Status.NONE, edits=()) if f.excluded and f.instead else f
        for f in chosen.findings
        if locate_partial_port(f) not in errors
    ]
    return replace(chosen, findings=tuple(sorted((*kept, *errors.values()), key=sort_key)))


def check_variants(whole: Scan, chosen: Scan) -> None:
    """Refuse to write what names a variant that is left out.

    Raises:
        PlanError: with the places.
    """
    found = find_missing_variants(whole, chosen)
    if found:
        raise PlanError(
            f"the variant {whole.job.vendor.variant} of"
            f" {', '.join(_find_dropped_enums(whole, chosen))} is left"
            f" out ({named_items.ENUM_VARIANT.code}), and what would be written names it, so that"
            f" no build would compile: write it too, or leave out {list_places(whole, found)}"
        )


def find_missing_variants(whole: Scan, chosen: Scan) -> list[Finding]:
    """Return what is chosen to be written and names a variant that would not be there."""
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
            or (f.instead and not f.excluded and any(name in gone for name in _enums(whole, f)))
        )
    ]


def list_places(whole: Scan, findings: Sequence[Finding]) -> str:
    """Return where some findings are, the first of them, in words."""
    more = f" and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    sources = whole.job.workspace.sources
    lines = (f"{f.path}:{sources[f.path].position(f.span.start)[0]}" for f in findings[:_SHOWN])
    codes = (f.code for f in findings)
    return ", ".join(f"{line} ({code})" for line, code in zip(lines, codes, strict=False)) + more


def _find_dropped_enums(whole: Scan, chosen: Scan) -> list[str]:
    """Return the enums whose variant is left out, sorted."""
    variants = _variants(whole, {locate_partial_port(f) for f in chosen.findings})
    return sorted(name for name, has in variants.items() if not has)


def locate_partial_port(finding: Finding) -> Place:
    """Return what names the place of a finding within one scan."""
    return finding.path, finding.code, finding.span


def _variants(whole: Scan, chosen: Set[Place]) -> dict[str, bool]:
    """Return the enums with a variant of the source's, and if they have the written one then."""
    found: dict[str, bool] = {}
    for f in whole.findings:
        if f.code == named_items.ENUM_VARIANT.code:
            written = (
                f.status is Status.TODO and not f.excluded and locate_partial_port(f) in chosen
            )
            name = f.symbol.rpartition("enum ")[2]
            found[name] = found.get(name, False) or written or f.status is Status.PORTED
    return found


def _enums(whole: Scan, finding: Finding) -> list[str]:
    """Return the enums that an arm is about, by the names that they are declared under."""
    text = whole.job.workspace.sources[finding.path].data.decode(errors="replace")
    found = []
    for name in re.findall(r"\w+", finding.construct.partition(": ")[2]):
        alias = re.search(rf"\b(\w+)\s+as\s+{name}\b|\btype\s+{name}\s*=\s*(?:\w+::)*(\w+)", text)
        found.append((alias[1] or alias[2]) if alias else name)
    return found if found != ["value"] else re.findall(r"\b(\w+)::(?:\*|\{)", text)


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
        if locate_partial_port(f) in chosen and not f.excluded
    )
