"""What a copy has that the name table does not give.

The codebase's profile names the item, the tokens of the CUDA side and what stands there in the
copy: a form that lints object to and that upstream's own do not see, or what the vendor's side
can do beyond CUDA's. Where the tokens do not stand there as often as the profile says, the copy
is left as the name table gives it, and the finding is `review`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port.item_patches import find_patch_findings
from portkit.profiles.entries import CopyPatch
from portkit.rules import FileFilter, FileRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile
    from portkit.workspace.finding import Finding


def check(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Find what the copy has else than the name table gives."""
    return find_patch_findings(job, source, CopyPatch)


RULE = FileRule("PK108", FileFilter.ALWAYS, check)
