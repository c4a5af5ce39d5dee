"""Places for which the profile has other text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from portkit.context.port_job import PortJob
from portkit.port.item_patches import (
    IN_PLACE,
    TextPlace,
    find_guarded_functions,
    find_override_findings,
    find_patch_findings,
    find_text_places,
)
from portkit.profiles.entries import CopyPatch, CopyRepair
from portkit.rules import FileFilter, FileRule
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability, Edit, Finding, Status

_OVERRIDE_PAGE = """\
An item whose copy comes from a template, because the two platforms' libraries differ.

The codebase's profile names the item and gives the reason, with the fingerprint of each
upstream version that the template was written against. Where upstream has changed the item
since, the finding is `review`: see whether the template must follow.
"""
OVERRIDE = FileRule("PK104", FileFilter.ALWAYS, find_override_findings, "override", _OVERRIDE_PAGE)


_REPAIR_PAGE = """\
A bug of the CUDA side that its copy does not carry on.

The codebase's profile holds the change and the evidence. The CUDA side is left as it is, and the
finding is a `review`: upstream should hear of it. Where the tokens that the change is about do
not stand there as often as the profile says, the copy is left as the name table gives it, and the
finding says that a person must look.
"""
REPAIR = FileRule(
    "PK107",
    FileFilter.ALWAYS,
    partial(find_patch_findings, kind=CopyRepair),
    "repair",
    _REPAIR_PAGE,
)


_ADJUSTED_COPY_PAGE = """\
What a copy has that the name table does not give.

The codebase's profile names the item, the tokens of the CUDA side and what stands there in the
copy: a form that lints object to and that upstream's own do not see, or what the vendor's side
can do beyond CUDA's. Where the tokens do not stand there as often as the profile says, the copy
is left as the name table gives it, and the finding is `review`.
"""
ADJUSTED_COPY = FileRule(
    "PK108",
    FileFilter.ALWAYS,
    partial(find_patch_findings, kind=CopyPatch),
    "adjusted_copy",
    _ADJUSTED_COPY_PAGE,
)


_GUARD_PAGE = """\
A statement at the beginning of a function that has no ROCm path but can be reached.

Without it a ROCm tensor fails deep inside. The codebase's profile holds the statement: it
takes the path that works on every device, or says at once what is missing. What it calls may
stand behind the function.
"""
GUARD = FileRule("PK106", FileFilter.ALWAYS, find_guarded_functions, "guard", _GUARD_PAGE)


def check_in_place(job: PortJob, source: SourceFile) -> Iterator[Finding]:
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


_IN_PLACE_RULE_PAGE = """\
A text of the tree that the port writes in another way, since nothing beside it would do.

A manifest turns CUDA on for whoever takes a crate, or a condition asks for a feature that has a
counterpart of its own. The codebase's profile has the text and what stands there afterwards, in
which the text itself may stand; where that stands already there is nothing to do.

A copy of what holds the text has what stands there afterwards, so that it says under a feature's
counterpart what the CUDA side says under the feature.

A text within that of another entry is the other's, so that an entry about many files has
exceptions.

Files that the profile keeps are looked at too: the entry says what changes in one nevertheless.
"""
IN_PLACE_RULE = FileRule(
    IN_PLACE, FileFilter.ALWAYS, check_in_place, "in_place", _IN_PLACE_RULE_PAGE
)
