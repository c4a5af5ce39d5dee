"""A file that could not be looked at, or a folder.

It cannot be read or listed, it is a link out of the tree or to nowhere, it is not UTF-8, it is too
much for portkit, or portkit fails on it: the message says which. Nothing is known about the backend
mentions in it, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from portkit.context.port_job import PortJob
from portkit.errors import format_error
from portkit.rules import TreeRule
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Status

CODE = "PK902"


def check(job: PortJob) -> Iterator[Finding]:
    """Find each file that could not be looked at."""
    for file in job.workspace.left_out:
        yield report_unread_file(file.path, file.reason)


def report_unread_file(path: str, reason: str, size: int = 0) -> Finding:
    """Return what is said of a file that could not be looked at."""
    return Finding(
        code=CODE,
        path=path,
        span=Span(0, 0),
        construct="file",
        symbol=PurePosixPath(path).name,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message=f"{reason}: look at it by hand",
        claims=(Span(0, size),) if size else (),
    )


def report_failed_file(path: str, error: Exception, size: int) -> Finding:
    """Return what is said of a file that portkit fails on, while the others are looked at."""
    said = format_error(error)[:200]
    return report_unread_file(
        path, f"portkit fails on it ({said}), which is a defect to report", size
    )


RULE = TreeRule(CODE, check)
