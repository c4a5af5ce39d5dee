"""Code that built before the port is not put under a feature that its crate does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.checks.ported import Refusal
from portkit.tree.manifest import parse_manifest
from portkit.tree.resolution import offered_features, path_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported import Ported
    from portkit.tree.finding import Finding
    from portkit.tree.workspace import Crate

_REASON = (
    "This change puts code under the feature {feature}, which the crate {crate} does not have. No"
    " build would contain the code. Add the feature to the manifest first."
)


def check_features(ported: Ported) -> Iterator[Refusal]:
    """Refuse new conditions on a feature of the source vendor that a crate lacks.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    for path, findings in ported.edited.items():
        crate = job.workspace.crate_of(path) if path.endswith(".rs") else None
        if crate is None or _has_source_feature(ported, crate):
            continue
        before = job.workspace.sources[path]
        if job.asks_for_source(before.text(0, before.size)):
            continue  # it names the feature already
        found = [f for f in findings if any(job.asks_for_source(e.text) for e in f.edits)]
        if found:
            reason = _REASON.format(feature=job.source_feature, crate=crate.name)
            yield Refusal(_with_patches(findings, found), reason)


def _has_source_feature(ported: Ported, crate: Crate) -> bool:
    if ported.job.source_feature in offered_features(crate.manifest):
        return True
    source = ported.source(path_in(crate.directory))
    try:
        manifest = parse_manifest(source.data) if source is not None else {}
    except ValueError:
        return True
    return ported.job.source_feature in offered_features(manifest)


def _with_patches(findings: tuple[Finding, ...], found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings with the patches of a profile in the file, which need each other."""
    if not any(each.entry for each in found):
        return tuple(found)
    return tuple(each for each in findings if each.entry or each in found)
