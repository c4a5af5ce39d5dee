"""A bug of the CUDA side that its copy does not carry on.

The codebase's profile holds the change and the evidence. The CUDA side is left as it is, and the
finding is a `review`: upstream should hear of it. Where the tokens that the change is about do
not stand there as often as the profile says, the copy is left as the name table gives it, and the
finding says that a person must look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.item_patches import find_patch_findings
from portkit.profiles.entries import CopyRepair
from portkit.rules import FileFilter, FileRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find a bug that the copy of a file does not carry on."""
    return find_patch_findings(job, source, CopyRepair)


RULE = FileRule("PK107", FileFilter.ALWAYS, check)
