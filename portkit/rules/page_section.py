"""A page of documentation that gains a section.

The codebase's profile holds the section and the heading that it stands before. Other
mentions in documentation are left alone and counted (PK102).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from portkit.context.port_job import PortJob
from portkit.port.template_values import render_template
from portkit.profiles.entries import Section
from portkit.rules import FileFilter, FileRule
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, Status


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a page that the profile holds a section for."""
    section = find_section(job, source)
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


def find_section(job: PortJob, source: SourceFile) -> Section | None:
    """Return the section that a page gains or has gained, if it has a place for one."""
    return next(
        (
            section
            for section in job.patches(Section, source.path)
            if max(_heading(source, h) for h in (section.before, section.heading)) >= 0
        ),
        None,
    )


def _heading(source: SourceFile, heading: str) -> int:
    """Return where the line of a heading begins, or -1."""
    match = re.search(rb"^%s\r?$" % re.escape(heading.encode()), source.data, re.MULTILINE)
    return match.start() if match else -1


RULE = FileRule("PK105", FileFilter.MENTIONS, check)
