"""A file that parsed before the port parses after it, and no two findings edit the same bytes."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from portkit.checks.ported_tree import Refusal
from portkit.workspace.edits import find_clash, write_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.workspace.finding import Finding

_CLASH = (
    "Two edits of portkit need the same bytes here ({first} and {second}). Only one of them can be"
    " written. Make this change by hand."
)
_BROKEN = (
    "With this edit the {language} of the file no longer parses. portkit does not write it."
    " Make this change by hand."
)


def check_syntax(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse edits that clash, and those after which a file does not parse.

    Args:
        ported: the tree after the port.
    """
    for findings in ported.edited.values():
        if (clash := find_clash(findings)) is not None:
            first, second = clash[0]
            yield Refusal((second,), _CLASH.format(first=first.code, second=second.code))
    for written in ported.find_written_files(".rs"):
        if not written.tree.root_node.has_error or _was_broken(written):
            continue
        yield Refusal(_find_writers(written), _BROKEN.format(language="Rust"))
    for written in ported.find_written_files(".toml"):
        if written.manifest is not None or _is_toml(written.source.data) or _was_broken(written):
            continue
        yield Refusal(_find_spoilers(written), _BROKEN.format(language="TOML"))


def _was_broken(written: WrittenFile) -> bool:
    if written.before is None:
        return False
    if written.source.path.endswith(".toml"):
        return not _is_toml(written.before.data)
    return written.before.tree.root_node.has_error


def _find_writers(written: WrittenFile) -> tuple[Finding, ...]:
    """Return the findings that write the innermost broken nodes; all of the file without one."""
    found: dict[int, Finding] = {}
    pending: list[Node] = [written.tree.root_node]
    while pending:
        node = pending.pop()
        inner = [child for child in node.children if child.has_error or child.is_missing]
        pending += inner
        if not inner:
            writers = written.find_writers(node.start_byte, node.end_byte)
            found |= {id(each): each for each in writers}
    return tuple(found.values()) or written.writers


def _find_spoilers(written: WrittenFile) -> tuple[Finding, ...]:
    """Return the last finding without which a manifest parses; all of them if there is none.

    The patches of a profile in one manifest need each other, so that none of them is left alone.
    """
    before = written.before
    for finding in reversed(written.writers if before is not None else ()):
        rest = [each for each in written.writers if each is not finding]
        if before is not None and _is_toml(write_edits(before, rest)[0]):
            patches = tuple(each for each in written.writers if each.entry)
            return patches if finding.entry else (finding,)
    return written.writers


def _is_toml(data: bytes) -> bool:
    try:
        tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True
