"""An item whose copy comes from a template, because the two platforms' libraries differ.

The codebase's profile names the item and gives the reason, with the fingerprint of each
upstream version that the template was written against. Where upstream has changed the item
since, the finding is `review`: see whether the template must follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.fingerprint import overrides
from portkit.rules import FileRule, When

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find an item whose copy comes from a template."""
    if source.path in job.learnt.analogs:
        yield from overrides(job, source)


RULE = FileRule("PK104", When.MENTIONS, check)
