"""Items whose copy is not the CUDA item under other names: overrides and repairs.

An override replaces one item of a copy because the two platforms' libraries differ there. It was
written against a certain text of the CUDA item. The profile holds a hash of that text for each
upstream version that was looked at; no upstream text is stored.
"""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.finding import Applicability, Finding, Status
from portkit.items import items
from portkit.names import normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.port import Port
    from portkit.source import Source

OVERRIDE, REPAIR = "PK104", "PK107"


def fingerprint(text: str) -> str:
    """Return the hash of an item: of its code, without layout and comments."""
    return hashlib.sha256(normal(text).encode()).hexdigest()[:16]


def overrides(port: Port, source: Source) -> Iterator[Finding]:
    """Yield a finding for each override of an item of a file."""
    wanted = {o.symbol: o for o in port.codebase.overrides if fnmatchcase(source.path, o.path)}
    standing = port.analogs.get(source.path) in port.workspace.sources
    # A file of which nothing is wanted is not parsed.
    for item in items(source) if wanted else ():
        override = wanted.pop(item.symbol, None)
        if override is None:
            continue
        current = fingerprint(source.slice(item.span))
        known = current in override.fingerprints.values()
        versions = ", ".join(sorted(override.fingerprints)) or "none"
        yield Finding(
            code=OVERRIDE,
            path=source.path,
            span=item.span,
            construct="override",
            symbol=item.symbol,
            applicability=Applicability.SAFE if known else Applicability.REVIEW,
            status=Status.PORTED if standing else Status.NONE,
            message=override.reason
            if known
            else f"{override.reason}; the CUDA item has changed since the template was written "
            f"(against {versions}; now {current}): see whether the template must follow",
        )


def repairs(port: Port, source: Source) -> Iterator[Finding]:
    """Yield a finding for each bug of a file of the CUDA side that its copy does not carry on."""
    wanted = {r.symbol: r for r in port.codebase.repairs if fnmatchcase(source.path, r.path)}
    standing = port.analogs.get(source.path) in port.workspace.sources
    for item in items(source) if wanted else ():
        repair = wanted.get(item.symbol)
        if repair and re.search(repair.find, port.rename(source.slice(item.span))):
            yield Finding(
                code=REPAIR,
                path=source.path,
                span=item.span,
                construct="bug upstream",
                symbol=item.symbol,
                applicability=Applicability.REVIEW,
                status=Status.PORTED if standing else Status.NONE,
                message=f"{repair.reason}; the copy is right, the original is untouched",
            )
