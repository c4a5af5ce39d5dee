"""Texts of the tree that the port writes in another way, as the profile has them (PK109).

A copy of what holds one has what stands there afterwards, whether that is written yet or not: else
the port would depend on which of the two places is written first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.profiles.entries import TextPatch
from portkit.syntax.span import Span
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile

IN_PLACE = "PK109"


class TextPlace(Value, frozen=True):
    """A place of a file that has, or will have, what the profile says."""

    patch: TextPatch  # what says so
    span: Span  # the place
    new: str  # what stands there afterwards
    standing: bool  # whether it does already

    @property
    def symbol(self) -> str:
        """What the place is called in reports."""
        return self.patch.find.split("\n")[0]

    @property
    def is_exception(self) -> bool:
        """Whether it is to stay as it is, where another patch would write."""
        return self.new == self.patch.find


def find_text_places(job: PortJob, source: SourceFile) -> tuple[TextPlace, ...]:
    """Return the places of a file, those of each patch in the order of the file."""
    patches = job.patches(TextPatch, source.path)
    if not patches:
        return ()
    return job.memoize(
        "texts", source, make=lambda: locate_text_patches(source, patches, job.workspace.version)
    )


def is_text_replaced(job: PortJob, source: SourceFile, span: Span) -> bool:
    """Whether a place lies in what the profile has written in place of a text."""
    return any(
        text.standing and not text.is_exception and text.span.encloses(span)
        for text in find_text_places(job, source)
    )


def locate_text_patches(
    source: SourceFile, patches: Sequence[TextPatch], version: str = ""
) -> tuple[TextPlace, ...]:
    """Return the places of all patches, of which more than one may write the same.

    What one writes stands for none of them where another has yet to write there, and for the first
    of them afterwards. A place within a larger one is the larger one's: so a patch of many files
    has an exception by one whose text says more, which may write ``$all`` alone.
    """
    places = [place for patch in patches for place in _texts(source, patch, version)]
    spans = [place.span for place in places]
    missing = [place.span for place in places if not place.standing]
    taken: set[tuple[Span, str]] = set()
    kept = []
    for place in places:
        key = place.span, place.new
        if place.standing and (_within(place.span, missing) or key in taken):
            continue
        if _within(place.span, [span for span in spans if span != place.span]):
            continue
        taken.add(key)
        kept.append(place)
    return tuple(kept)


def _texts(source: SourceFile, patch: TextPatch, version: str) -> list[TextPlace]:
    new = patch.write.replace("$all", patch.find).replace("$version", version)
    written, found = _places(source, new), _places(source, patch.find)
    if patch.find in new:
        found = [place for place in found if not _within(place, written)]
    else:
        written = [place for place in written if not _within(place, found)]
    return [
        TextPlace(patch, place, new, standing=place in written)
        for place in sorted((*written, *found))
    ]


def _within(place: Span, outer: list[Span]) -> bool:
    return any(each.encloses(place) for each in outer)


def _places(source: SourceFile, text: str) -> list[Span]:
    """Return where a text stands, with either end of a line."""
    lines = text.encode().split(b"\n")
    if max(lines, key=len) not in source.data:  # as is so of most, and to compile takes far longer
        return []
    wanted = re.compile(rb"\r?\n".join(map(re.escape, lines)))
    return [Span(match.start(), match.end()) for match in wanted.finditer(source.data)]
