"""What upstream has changed under a template that was written by hand.

An override or a block that comes from a template was written against a known text of the CUDA item.
Where that text has changed, the difference is what a person needs to see. No upstream text is
stored: it is read from the published crate of the version that the template was written against, if
that crate is in the user's cache.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from msgspec.structs import replace

from portkit.context.port_job import PortJob
from portkit.engine.scan import Scan
from portkit.errors import PortkitError
from portkit.fetch import fetch_crate
from portkit.port.item_patches import OVERRIDE
from portkit.profiles.entries import ItemOverride
from portkit.syntax.items import find_items
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability, Finding


def add_override_drift(scan: Scan) -> Scan:
    """Return the scan with the difference in each finding about an override that may be stale."""
    return replace(scan, findings=tuple(_add_difference(scan.job, f) for f in scan.findings))


def _add_difference(job: PortJob, finding: Finding) -> Finding:
    if finding.code != OVERRIDE or finding.applicability is not Applicability.REVIEW:
        return finding
    wholes = job.patches(ItemOverride, finding.path)
    override = next((o for o in wholes if o.symbol == finding.symbol), None)
    if override is None:
        return finding
    now = job.workspace.sources[finding.path].slice(finding.span)
    for version, before in _find_known_texts(job, override, finding.path):
        lines = difflib.unified_diff(
            before.splitlines(), now.splitlines(), version, job.workspace.version, lineterm=""
        )
        return replace(finding, detail="\n".join(lines))
    return finding


def _find_known_texts(job: PortJob, override: ItemOverride, path: str) -> Iterator[tuple[str, str]]:
    """Yield the item as each known version has it, the newest version first."""
    crate = job.workspace.crate_of(path)
    if crate is None:
        return
    for version in sorted(override.fingerprints, key=_order, reverse=True):
        try:
            folder = fetch_crate(crate.name, version, offline=True)
            data = (folder / path.removeprefix(f"{crate.directory}/")).read_bytes()
        except (PortkitError, OSError):
            continue
        source = SourceFile(path, data)
        for item in find_items(source, [override.symbol]):
            if item.symbol == override.symbol:
                yield version, source.slice(item.span)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdigit())
