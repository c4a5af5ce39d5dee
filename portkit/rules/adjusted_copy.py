"""What a copy has that the name table does not give.

The codebase's profile names the item, the tokens of the CUDA side and what stands there in the
copy: a form that lints object to and that upstream's own do not see, or what the vendor's side
can do beyond CUDA's. Where the tokens do not stand there as often as the profile says, the copy
is left as the name table gives it, and the finding is `review`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.patches import within
from portkit.profile.entries import Adjust
from portkit.rules import FileRule, When

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.lang.source import Source
    from portkit.site.context import Job
    from portkit.tree.finding import Finding


def check(job: Job, source: Source) -> Iterator[Finding]:
    """Find what the copy has else than the name table gives."""
    return within(job, source, Adjust)


RULE = FileRule("PK108", When.ALWAYS, check)
