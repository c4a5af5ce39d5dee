"""A statement at the beginning of a function that has no ROCm path but can be reached.

Without it a ROCm tensor fails deep inside. The codebase's profile holds the statement: it
takes the path that works on every device, or says at once what is missing. What it calls may
stand behind the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.guards import guarded
from portkit.rules import FileRule, When

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find a function that the profile has a guard for."""
    return guarded(job, source)


RULE = FileRule("PK106", When.ALWAYS, check)
