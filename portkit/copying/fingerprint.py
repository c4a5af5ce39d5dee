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

from portkit.lang.items import items
from portkit.lang.renaming import normal
from portkit.lang.span import Span
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.profile.profile import Repair
    from portkit.site.context import Job

OVERRIDE, REPAIR = "PK104", "PK107"
_RIGHT = "the copy is right, the original is untouched"
_NOT_FOUND = (
    "nothing of that is found here{now}: see whether upstream has mended it or says it in other "
    "words"
)


def fingerprint(text: str) -> str:
    """Return the hash of an item: of its code, without layout and comments."""
    return hashlib.sha256(normal(text).encode()).hexdigest()[:16]


def overrides(job: Job, source: Source) -> Iterator[Finding]:
    """Yield a finding for each override of an item of a file."""
    wanted = {o.symbol: o for o in job.codebase.overrides if fnmatchcase(source.path, o.path)}
    standing = job.learnt.analogs.get(source.path) in job.workspace.sources
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


def repairs(job: Job, source: Source) -> Iterator[Finding]:
    """Yield a finding for each bug of a file of the CUDA side that its copy does not carry on.

    Where nothing of a bug is found and no text that is known to have none, that is a finding too:
    upstream may have mended it, or may say the same in other words.
    """
    wanted = [r for r in job.codebase.repairs if fnmatchcase(source.path, r.path)]
    # A file of which nothing is wanted is not parsed.
    every = tuple(items(source)) if wanted else ()
    for repair in wanted:
        concerned = [i for i in every if repair.applies(source.path, i.symbol)]
        texts = [source.slice(item.span) for item in concerned]
        found = [
            _repair(job, source, repair, item.symbol, item.span, _RIGHT)
            for item, text in zip(concerned, texts, strict=True)
            if re.search(repair.find, job.rename(text))
        ]
        yield from found
        hashes = [fingerprint(text) for text in texts]
        if found or set(repair.mended.values()) & set(hashes):
            continue
        if concerned or repair.path == source.path:
            span = concerned[0].span if concerned else Span(0, 0)
            now = f" (now {hashes[0]})" if hashes else ""
            yield _repair(job, source, repair, repair.symbol, span, _NOT_FOUND.format(now=now))


def _repair(
    job: Job, source: Source, repair: Repair, symbol: str, span: Span, what: str
) -> Finding:
    standing = job.learnt.analogs.get(source.path) in job.workspace.sources
    return Finding(
        code=REPAIR,
        path=source.path,
        span=span,
        construct="upstream defect",
        symbol=symbol,
        applicability=Applicability.REVIEW,
        status=Status.PORTED if standing else Status.NONE,
        message=f"{repair.reason}; {what}",
        reason=repair.reason,
    )
