"""A struct gains a field only if each place that names all of its fields can name that one, too.

A value of a struct has each field (rustc: E0063), and so has a pattern without ``..`` (E0027). A
place that the port does not complete would compile in no build.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Refusal
from portkit.checks.scopes import Scopes, find_self_type
from portkit.rules.named_items import FIELD
from portkit.syntax.source_file import SourceFile, field_text, find_descendants, node_text
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree
    from portkit.workspace.finding import Finding

_REASON: Final = (
    "{owner} would gain the field `{field}`, and {path}:{line} names every field but that one. No"
    " build would compile. Add the field by hand, and complete that place."
)
_KINDS: Final = ("struct_expression", "struct_pattern")
_OPEN: Final = frozenset({"base_field_initializer", "remaining_field_pattern"})


class _Gain(Value, frozen=True):
    """A field that a struct gains."""

    finding: Finding
    owner: str
    field: str


def check_fields(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a new field that some value or pattern of its struct does not name.

    Args:
        ported: the tree after the port.
    """
    gains = [*_find_gains(ported)]
    if not gains:
        return
    owners = [gain.owner.encode() for gain in gains]
    for path in ported.job.workspace.sources:
        source = ported.source(path) if path.endswith(".rs") else None
        if source is None or not any(owner in source.data for owner in owners):
            continue
        for gain in gains:
            node = _find_incomplete(source, gain)
            if node is not None:
                line = _find_line_before(ported, path, node.start_byte)
                said = _REASON.format(owner=gain.owner, field=gain.field, path=path, line=line)
                yield Refusal((gain.finding,), said)


def _find_line_before(ported: PortedTree, path: str, offset: int) -> int:
    """Return the line before the port of what is at an offset after it."""
    written = ported.written(path)
    at = offset if written is None else written.offset_before(offset)
    return ported.job.workspace.sources[path].position(at)[0]


def _find_gains(ported: PortedTree) -> Iterator[_Gain]:
    """Yield the fields of structs that findings declare."""
    job = ported.job
    for finding in ported.todo:
        if finding.code != FIELD.code or not finding.types or not finding.edits:
            continue
        text = job.workspace.sources[finding.path].slice(finding.span)
        if "#[cfg" in text:
            continue  # the places that name it are under the same condition
        source = SourceFile("field.rs", f"struct S {{ {text} }}".encode())
        for node in find_descendants(source.tree.root_node, "field_declaration"):
            yield _Gain(finding, finding.types[0], job.rename(field_text(node, "name")))


def _find_incomplete(source: SourceFile, gain: _Gain) -> Node | None:
    """Return a value or a pattern of a struct that names each field but the new one."""
    at = [*find_occurrences(source.data, gain.owner.encode())]
    if b"Self" in source.data:
        at += find_occurrences(source.data, b"Self")
    root = source.tree_around(sorted(at)).root_node if at else None
    for kind in _KINDS if root is not None else ():
        for node in _find_nodes(root, kind):
            head = field_text(node, "name" if kind == "struct_expression" else "type")
            name = find_self_type(node) if head == "Self" else head
            name = re.sub(r"<.*", "", name)
            if "::" not in name and name != gain.owner:
                name = Scopes().resolve_name(node, name)
            if name.rpartition("::")[2] == gain.owner and not _names(node, gain.field):
                return node
    return None


def _find_nodes(root: Node | None, kind: str) -> Iterator[Node]:
    """Yield each node of a kind, also those inside another."""
    pending = [root] if root is not None else []
    while pending:
        node = pending.pop()
        if node.type == kind:
            yield node
        pending += node.named_children


def _names(node: Node, field: str) -> bool:
    """Whether a value or a pattern names a field, or leaves some to others."""
    held = node.child_by_field_name("body") or node
    for child in held.named_children:
        if child.type in _OPEN:
            return True
        name = field_text(child, "name") or field_text(child, "field")
        if (name or node_text(child).rpartition(" ")[2]) == field:
            return True
    return False
