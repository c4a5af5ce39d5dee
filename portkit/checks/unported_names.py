"""A copy that still uses a CUDA library's item is for review, if that library has no counterpart.

The name table leaves such a name as it is. The copy compiles, and its comments and its other names
say that ROCm has what it lacks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Doubt
from portkit.workspace.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree

_KEPT: Final = (
    "The copy still uses `{name}`, and portkit knows no counterpart of {library} for {title}. Check"
    " this code and its comments"
)


def doubt_unported_names(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at a copy that uses what has no counterpart.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    words = "|".join(re.escape(word.replace("-", "_")) for word in job.unported_words)
    if not words:
        return
    named = re.compile(rb"\w*(%s)\w*" % words.encode(), re.IGNORECASE)
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            finding = piece.finding
            if finding.applicability is not Applicability.SAFE or finding.entry:
                continue
            for match in named.finditer(written.source.data, piece.start, piece.end):
                node = written.tree.root_node.descendant_for_byte_range(*match.span())
                if node is not None and "identifier" in node.type:
                    said = _KEPT.format(
                        name=match[0].decode(),
                        library=match[1].decode().lower(),
                        title=job.vendor.title,
                    )
                    yield Doubt(finding, said)
                    break
