"""A text of the tree that the port writes in another way, since nothing beside it would do.

A manifest turns CUDA on for whoever takes a crate, or a condition asks for a feature that has a
counterpart of its own. The codebase's profile has the text and what stands there afterwards, in
which the text itself may stand; where that stands already there is nothing to do.

A copy of what holds the text has what stands there afterwards, so that it says under a feature's
counterpart what the CUDA side says under the feature.

A text within that of another entry is the other's, so that an entry about many files has
exceptions.

Files that the profile keeps are looked at too: the entry says what changes in one nevertheless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.item_patches import IN_PLACE, find_text_places
from portkit.rules import FileFilter, FileRule
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import PortJob
    from portkit.port.item_patches import TextPlace
    from portkit.syntax.source_file import SourceFile


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a text that the profile has another for."""
    for text in find_text_places(job, source):
        yield Finding(
            code=IN_PLACE,
            path=source.path,
            span=text.span,
            construct="text in place",
            symbol=text.symbol,
            applicability=Applicability.KEEP if text.is_exception else Applicability.SAFE,
            status=_status(text),
            message=text.patch.reason,
            entry=job.codebase.key(text.patch),
            edits=() if text.standing else (Edit(*text.span, text.new),),
        )


def _status(text: TextPlace) -> Status:
    if text.is_exception:
        return Status.NONE
    return Status.PORTED if text.standing else Status.TODO


RULE = FileRule(IN_PLACE, FileFilter.ALWAYS, check)
