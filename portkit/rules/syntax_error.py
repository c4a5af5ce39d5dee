"""A place that the parser does not understand.

The rest of the file was still looked at, and is written into where the items are parsed whole. Into
an item that is not, nothing is written: what is wanted there is for a person. Newer syntax than the
parser knows is the usual cause; look at the place by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from portkit.context.port_job import PortJob
from portkit.rules import FileFilter, FileRule
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Finding, Status


def check(_job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find the first place of a file that the parser does not understand."""
    node = source.tree.root_node
    while True:
        inner = next((c for c in node.children if c.has_error or c.is_missing), None)
        if inner is None or inner.type == "ERROR":
            node = inner or node
            break
        node = inner
    # What is missing at the end of the file has no bytes of its own.
    start = min(node.start_byte, len(source.data) - 1)
    yield Finding(
        code="PK901",
        path=source.path,
        span=Span(start, max(node.end_byte, start + 1)),
        construct="syntax error",
        symbol=PurePosixPath(source.path).name,
        applicability=Applicability.MANUAL,
        status=Status.NONE,
        message="the file is not parsed whole; what stands around this place was still looked at",
    )


RULE = FileRule("PK901", FileFilter.BROKEN, check)
