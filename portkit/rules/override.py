"""An item whose copy comes from a template, because the two platforms' libraries differ.

The codebase's profile names the item and gives the reason, with the fingerprint of each
upstream version that the template was written against. Where upstream has changed the item
since, the finding is `review`: see whether the template must follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.item_patches import find_override_findings
from portkit.rules import FileFilter, FileRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find an item whose copy comes from a template."""
    return find_override_findings(job, source)


RULE = FileRule("PK104", FileFilter.ALWAYS, check)
