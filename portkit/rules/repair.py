"""A bug of the CUDA side that its copy does not carry on.

The codebase's profile holds the change and the evidence. The CUDA side is left as it is,
and the finding is a `review`: upstream should hear of it. Where the CUDA side is neither
what the change was written for nor what is known to be mended, the copy is unchanged, and
the finding says that a person must look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.fingerprint import repairs
from portkit.rules import FileRule, When

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a bug that the copy of a file does not carry on."""
    if source.path in job.learnt.analogs:
        yield from repairs(job, source)


RULE = FileRule("PK107", When.MENTIONS, check)
