"""A page of documentation that gains a section.

The codebase's profile holds the section and the heading that it stands before. Other
mentions in documentation are left alone and counted (PK102).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying.template_values import render_template
from portkit.lang.span import Span
from portkit.profile.entries import Section
from portkit.rules import FileRule, When
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a page that the profile holds a section for."""
    section = section_of(job, source)
    if section is None:
        return
    whole = Span(0, max(len(source.data), 1))
    at = _heading(source, section.before)
    standing = _heading(source, section.heading) >= 0
    title = section.heading.lstrip("# ")
    yield Finding(
        code="PK105",
        path=source.path,
        span=whole,
        construct="documentation",
        symbol=title,
        applicability=Applicability.SAFE,
        status=Status.PORTED if standing else Status.TODO,
        message=section.reason,
        entry=job.codebase.key(section),
        edits=() if standing else (Edit(at, at, render_template(job, section.template)),),
        claims=(whole,),
    )


def section_of(job: Job, source: Source) -> Section | None:
    """Return the section that a page gains or has gained, if it has a place for one."""
    return next(
        (
            section
            for section in job.patches(Section, source.path)
            if max(_heading(source, h) for h in (section.before, section.heading)) >= 0
        ),
        None,
    )


def _heading(source: Source, heading: str) -> int:
    """Return where the line of a heading begins, or -1."""
    match = re.search(rb"^%s\r?$" % re.escape(heading.encode()), source.data, re.MULTILINE)
    return match.start() if match else -1


RULE = FileRule("PK105", When.MENTIONS, check)
