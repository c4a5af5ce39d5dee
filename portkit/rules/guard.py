"""A statement at the beginning of a function that has no ROCm path but can be reached.

Without it a ROCm tensor fails deep inside. The codebase's profile holds the statement: it
takes the path that works on every device, or says at once what is missing. What it calls may
stand behind the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.item_patches import find_guarded_functions
from portkit.rules import FileFilter, FileRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a function that the profile has a guard for."""
    return find_guarded_functions(job, source)


RULE = FileRule("PK106", FileFilter.ALWAYS, check)
