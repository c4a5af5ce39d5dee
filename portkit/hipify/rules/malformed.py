"""A file that does not read as C++: a comment that never ends.

Nothing after it can be told apart, so nothing after it is translated.

What to do: close the comment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.hipify.kernel_source import KernelSource

CODE = "PH208"


def find(source: KernelSource) -> Iterator[Finding]:
    """Return a finding for the comment that never ends, if there is one."""
    start = source.unterminated
    if start is None:
        return
    span = Span(start, len(source.text))
    yield Finding(
        code=CODE,
        path=source.path,
        span=span,
        construct="comment",
        symbol="/*",
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message="the comment never ends: close it; nothing after it was translated",
        claims=(span,),
    )
