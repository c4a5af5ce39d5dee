"""A file that could not be looked at, or a folder.

It cannot be read or listed, it is a link out of the tree or to nowhere, it is not UTF-8, it is too
much for portkit, or portkit fails on it: the message says which. Nothing is known about the backend
mentions in it, and nothing is written.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.errors import one_line
from portkit.lang.span import Span
from portkit.rules import TreeRule
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Job


CODE = "PK902"


def check(job: Job) -> Iterator[Finding]:
    """Find each file that could not be looked at."""
    for file in job.workspace.left_out:
        yield unread(file.path, file.reason)


def unread(path: str, reason: str, size: int = 0) -> Finding:
    """Return what is said of a file that could not be looked at.

    Args:
        path: the file.
        reason: why, as half a sentence.
        size: of the file in bytes, where it could be read.
    """
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


def failed(path: str, error: Exception, size: int) -> Finding:
    """Return what is said of a file that portkit fails on, while the others are looked at."""
    said = one_line(error)[:200]
    return unread(path, f"portkit fails on it ({said}), which is a defect to report", size)


RULE = TreeRule(CODE, check)
