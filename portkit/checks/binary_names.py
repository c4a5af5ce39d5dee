"""A copy declares as text what the written vendor's compiler writes as bytes.

PTX is text, and a code object is a file of bytes. The name table gives a parameter its new name,
and its type stays. Only a person can tell whether it is a file's name or the file's contents.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import is_declared
from portkit.checks.ported_tree import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree

_TEXT: Final = (
    "`{name}` is text, as `{original}` is, and {title} compiles kernels to bytes. Check its type,"
    " and what reads it"
)


def doubt_binary_names(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person who looks at the type of what holds or names a compiled kernel.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    words = "|".join(map(re.escape, job.vendor.names.binary))
    if not words:
        return
    declared = re.compile(
        rb"\b(\w*(?:%s)\w*)\s*:\s*(?:Option\s*<\s*)?(?:&\s*(?:'\w+\s+)?str|String)\b"
        % words.encode()
    )
    definitions = ported.definitions
    for written in ported.find_edited_files(".rs"):
        for piece in written.pieces:
            for match in declared.finditer(written.source.data, piece.start, piece.end):
                name = match[1].decode()
                original = definitions.originals(piece.finding).get(name)
                root = written.tree.root_node
                node = root.descendant_for_byte_range(match.start(1), match.end(1) - 1)
                if original is not None and node is not None and is_declared(node):
                    said = _TEXT.format(name=name, original=original, title=job.vendor.title)
                    yield Doubt(piece.finding, said)
