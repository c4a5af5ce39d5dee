"""A file that a written line names exists after the port: a module's, or one that is included.

Sources: the Rust reference, chapter "Modules", section "Module source filenames", and the
documentation of ``include``, ``include_bytes`` and ``include_str`` in the standard library.
"""

from __future__ import annotations

import posixpath
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Refusal
from portkit.syntax.module_files import find_module_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.workspace.edits import Piece

_NO_MODULE: Final = (
    "This line would declare the module `{name}`, and no file of it exists after the port. No build"
    " would compile. Add {path}, or write this line by hand."
)
_NO_FILE: Final = (
    "This line would include {path}, which does not exist after the port. No build would compile."
    " Add the file, or write this line by hand."
)
_INCLUDE: Final = re.compile(rb'\binclude(?:_str|_bytes)?!\s*\(\s*"([^"\n]+)"\s*,?\s*\)')
_MODULE: Final = re.compile(rb"\bmod\s+(\w+)\s*;")


def check_files(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a line that names a file which does not exist after the port.

    Args:
        ported: the tree after the port.
    """
    for written in ported.find_written_files(".rs"):
        if written.before is None:
            continue
        for piece in written.pieces:
            yield from _check_piece(ported, written, piece)


def _check_piece(ported: PortedTree, written: WrittenFile, piece: Piece) -> Iterator[Refusal]:
    data, path = written.source.data, written.source.path
    for match in _INCLUDE.finditer(data, piece.start, piece.end):
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1].decode()))
        if not named.startswith("../") and not _is_any_there(ported, [named]):
            yield Refusal((piece.finding,), _NO_FILE.format(path=named))
    for match in _MODULE.finditer(data, piece.start, piece.end):
        node = written.tree.root_node.descendant_for_byte_range(match.start(1), match.end(1) - 1)
        item = node.parent if node is not None else None
        if item is None or item.type != "mod_item":
            continue
        # Nobody knows whether a `path` attribute somewhere names this file.
        ways = (find_module_files(item, path), find_module_files(item, path, is_owner=True))
        paths = [*dict.fromkeys(chain.from_iterable(ways))]
        if paths and not _is_any_there(ported, paths) and not _is_generated(ported, paths[0]):
            said = _NO_MODULE.format(name=match[1].decode(), path=paths[0])
            yield Refusal((piece.finding,), said)


def _is_any_there(ported: PortedTree, paths: Sequence[str]) -> bool:
    """Whether one of some files exists after the port; generated files are asked for last."""
    job, copies = ported.job, ported.copies
    if any(job.stands(path) or path in copies for path in paths):
        return True
    return any(ported.has(path) for path in paths)


def _is_generated(ported: PortedTree, path: str) -> bool:
    """Whether the crate's build script names the file after the port, so that it writes it."""
    crate = ported.job.workspace.crate_of(path)
    if crate is None or (script := crate.build_script) is None:
        return False
    source = ported.source(script)
    inside = posixpath.relpath(path, crate.directory)
    return source is not None and f'"{inside}"'.encode() in source.data
