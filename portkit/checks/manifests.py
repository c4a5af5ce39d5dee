"""Cargo loads the written manifests: each name in them is there, and is there once.

What Cargo refuses before the port as well is the tree's own.
"""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from portkit.checks.ported_tree import Refusal
from portkit.workspace.cargo_resolution import FILE, Manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from portkit.checks.ported_tree import PortedTree
    from portkit.workspace.cargo_resolution import CargoFault, Manifest
    from portkit.workspace.cargo_workspace import Workspace
    from portkit.workspace.finding import Finding

_REASON = (
    "{fact}, and this change needs it. Cargo would not load the tree. portkit does not write the"
    " change: make it by hand."
)


def check_manifests(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse what Cargo would refuse in a manifest.

    Args:
        ported: the tree after the port.
    """
    workspace = ported.job.workspace
    paths = [path for path in ported.edited if posixpath.basename(path) == FILE]
    paths += [f"{e.place}/{FILE}" for e in ported.job.codebase.whole if e.place in ported.added]
    written = [each for path in paths if (each := ported.written(path)) is not None]
    if not written:
        return
    read = {each.source.path: each.manifest for each in written}
    after = ported_manifests(workspace, read, ported.has, ported.templates)
    # Most trees have none, so that those before the port are not asked for.
    for fault in sorted(after.faults - workspace.manifests.faults if after.faults else ()):
        findings = _find_writers(ported, fault)
        yield Refusal(findings, _REASON.format(fact=fault.fact))


def ported_manifests(
    workspace: Workspace,
    written: Mapping[str, Manifest | None],
    has_file: Callable[[str], bool],
    parsed: Mapping[str, Manifest] = MappingProxyType({}),
) -> Manifests:
    """Return the manifests of a tree in which some are written.

    Args:
        workspace: the tree.
        written: the written manifests, by path; None for one that does not parse. Other files are
            passed over.
        has_file: tells whether the port adds a file.
        parsed: other manifests that are added, by folder.
    """
    before = workspace.manifests
    inside = {**before.inside, **parsed}
    for path, manifest in written.items():
        if posixpath.basename(path) == FILE:
            inside[posixpath.dirname(path) or "."] = manifest
    return Manifests(inside, before.outside, lambda path: has_file(path) or before.has_file(path))


def find_namers(findings: Iterable[Finding], fault: CargoFault) -> list[Finding]:
    """Return the findings whose edits name what a manifest lacks.

    Args:
        findings: those that edit the manifest.
        fault: what is wrong.
    """
    words = re.compile(rf"(?<![\w-]){re.escape(fault.name.rpartition('/')[2])}(?![\w-])")
    return [f for f in findings if any(words.search(edit.text) for edit in f.edits)]


def _find_writers(ported: PortedTree, fault: CargoFault) -> tuple[Finding, ...]:
    """Return the findings that cause a fault: they name it, or they write one of its manifests."""
    paths = (fault.path, fault.where, f"{fault.where}/{FILE}")
    groups: list[Sequence[Finding]] = [ported.edited.get(path, ()) for path in paths]
    for found in (find_namers(each, fault) for each in groups):
        if found:
            return tuple(found)
    written = [each.writers for path in paths if (each := ported.written(path)) is not None]
    manifests = (f for path, found in ported.edited.items() if path.endswith(FILE) for f in found)
    return next(iter(written), tuple(manifests)) or tuple(ported.added.values())
