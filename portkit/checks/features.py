"""Code is put under no feature that its crate does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.checks.ported_tree import Refusal
from portkit.workspace.cargo_resolution import (
    find_declared_dependencies,
    find_requestable_features,
    manifest_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree
    from portkit.workspace.cargo_workspace import Crate
    from portkit.workspace.finding import Finding

_REASON = (
    "This change puts code under the feature {feature}, which the crate {crate} does not have. No"
    " build would contain the code. Add the feature to the manifest first."
)


def check_features(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse new conditions on a feature that a crate lacks.

    The source vendor's would take code out of builds that had it. The written vendor's would leave
    code in no build, while the crates below have that vendor's variants.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    for path, findings in ported.edited.items():
        crate = job.workspace.crate_of(path) if path.endswith(".rs") else None
        if crate is None:
            continue
        offered = _find_features(ported, crate)
        lacking = job.source_feature not in offered
        if not lacking and job.feature in offered:
            continue
        before = job.workspace.sources[path]
        if job.has_cuda_cfg(before.text(0, before.size)):
            continue  # it names the feature already
        lost = [f for f in findings if lacking and any(job.has_cuda_cfg(e.text) for e in f.edits)]
        if lost:
            reason = _REASON.format(feature=job.source_feature, crate=crate.name)
            yield Refusal(_add_patches(findings, lost), reason)
        elif job.feature not in offered and _is_above(ported, crate):
            condition = f'feature = "{job.feature}"'
            idle = tuple(f for f in findings if any(condition in e.text for e in f.edits))
            if idle:
                yield Refusal(idle, _REASON.format(feature=job.feature, crate=crate.name))


def _is_above(ported: PortedTree, crate: Crate) -> bool:
    """Whether a crate of the tree that another depends on has the written vendor's feature."""
    named = {
        str(said.get("package", name))
        for _, name, said in find_declared_dependencies(crate.manifest)
    }
    return any(
        each.name in named and ported.job.feature in _find_features(ported, each)
        for each in ported.job.workspace.crates
    )


def _find_features(ported: PortedTree, crate: Crate) -> set[str]:
    """Return the features that a crate has after the port."""
    written = ported.written(manifest_path(crate.directory))
    after = written.manifest if written is not None else None
    return find_requestable_features(crate.manifest if after is None else after)


def _add_patches(findings: tuple[Finding, ...], found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings with the patches of a profile in the file, which need each other."""
    if not any(each.entry for each in found):
        return tuple(found)
    return tuple(each for each in findings if each.entry or each in found)
