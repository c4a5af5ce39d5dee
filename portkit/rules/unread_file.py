"""A file that could not be looked at, or a folder.

It cannot be read or listed, or it is not UTF-8; the message says which. Nothing is known about the
backend mentions in it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

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
        yield Finding(
            code=CODE,
            path=file.path,
            span=Span(0, 0),
            construct="file",
            symbol=PurePosixPath(file.path).name,
            applicability=Applicability.MANUAL,
            status=Status.NONE,
            message=f"{file.reason}: look at it by hand",
        )


RULE = TreeRule(CODE, check)
