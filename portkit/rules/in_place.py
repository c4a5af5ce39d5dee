"""A text of the tree that the port writes in another way, since nothing beside it would do.

A manifest turns CUDA on for whoever takes a crate, or a condition asks for a feature that has a
counterpart of its own. The codebase's profile has the text and what stands there afterwards, in
which the text itself may stand; where that stands already there is nothing to do.

Files that the profile keeps are looked at too: the entry says what changes in one nevertheless.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.lang.span import Span
from portkit.profile.entries import InPlace
from portkit.rules import FileRule, When
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a text that the profile has another for."""
    for patch in job.patches(InPlace, source.path):
        new = patch.write.replace("$all", patch.find)
        written, found = _places(source, new), _places(source, patch.find)
        if patch.find in new:
            found = [place for place in found if not _within(place, written)]
        else:
            written = [place for place in written if not _within(place, found)]
        for place in sorted((*written, *found)):
            standing = place in written
            yield Finding(
                code="PK109",
                path=source.path,
                span=place,
                construct="text in place",
                symbol=patch.find.split("\n")[0],
                applicability=Applicability.SAFE,
                status=Status.PORTED if standing else Status.TODO,
                message=patch.reason,
                entry=job.codebase.key(patch),
                edits=() if standing else (Edit(place.start, place.end, new),),
            )


def _within(place: Span, outer: list[Span]) -> bool:
    return any(each.encloses(place) for each in outer)


def _places(source: Source, text: str) -> list[Span]:
    """Return where a text stands."""
    wanted = re.compile(re.escape(text.encode()))
    return [Span(match.start(), match.end()) for match in wanted.finditer(source.data)]


RULE = FileRule("PK109", When.ALWAYS, check)
