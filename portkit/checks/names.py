"""A name that a written line uses exists after the port.

portkit writes a name of the written vendor's for one of CUDA's. Such a name must be defined in the
tree, wherever the line is compiled. What the tree does not define for CUDA either is left alone: it
is another crate's. A field of a struct that the tree does not define is the exception, since no
port can add one to another crate. So is a variant that a macro of the tree makes of its arguments:
the call must have the port's name too.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import (
    Definitions,
    do_conditions_hold,
    find_vendor_names,
    is_bound,
    is_declared,
    is_name,
)
from portkit.checks.ported_tree import Refusal
from portkit.checks.scopes import find_self_type
from portkit.syntax.cfg import find_conditions_around
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.workspace.edits import Piece

_MISSING: Final = (
    "This line would name `{name}`, which nothing defines after the port. It would not compile."
    " Define `{name}`, or write this line by hand."
)
_FOREIGN: Final = (
    "This line would name the field `{name}` of `{owner}`, which this tree does not define. It"
    " would not compile. Write this line by hand."
)
_GATED: Final = (
    "This line would name `{name}`, which does not exist in each build that has this line. Such a"
    " build would not compile. Write it by hand, under the right feature."
)
_GLOB: Final = re.compile(rb"::\s*(?:\{[^;]*)?\*")
"""An import of everything, which may bring any name into scope."""
_TYPE: Final = re.compile(rb"\b[A-Z]\w*")
_ITEMS: Final = frozenset({"function_item", "impl_item", "const_item", "static_item", "mod_item"})


class _Use(Value, frozen=True):
    """A name that an edit writes."""

    name: str
    node: Node
    written: WrittenFile
    piece: Piece


def check_names(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a line that names something that does not exist where it is compiled.

    Args:
        ported: the tree after the port.
    """
    definitions = ported.definitions
    for written in ported.find_edited_files(".rs"):
        for use in _uses(ported, written):
            if reason := _explain_missing(definitions, use):
                yield Refusal((use.piece.finding,), reason, use.name)


def _uses(ported: PortedTree, written: WrittenFile) -> Iterator[_Use]:
    """Yield the names of the written vendor's that edits put into a file."""
    for match, node, piece in find_vendor_names(ported, written):
        if is_name(node, match):
            yield _Use(match[0].decode(), node, written, piece)
    yield from _find_types_of_libraries(ported, written)


def _find_types_of_libraries(ported: PortedTree, written: WrittenFile) -> Iterator[_Use]:
    """Yield the types that edits write for those of CUDA's libraries."""
    words = {*ported.job.vendor.names.words.values()}
    root = written.tree.root_node
    for piece in written.pieces:
        for match in _TYPE.finditer(written.source.data, piece.start, piece.end):
            node = root.descendant_for_byte_range(match.start(), match.end() - 1)
            if match[0].decode() in words and node is not None and node.type == "type_identifier":
                yield _Use(match[0].decode(), node, written, piece)


def _explain_missing(definitions: Definitions, use: _Use) -> str:
    """Return why a name does not exist where it is used, or an empty string."""
    name, node, parent = use.name, use.node, use.node.parent
    if parent is None or node.type == "metavariable":
        return ""
    is_value = parent.type in ("field_initializer", "shorthand_field_initializer")
    if is_value and parent.child_by_field_name("field") in (None, node):
        return _explain_no_field(definitions, use, parent)
    if node.type == "string_content":
        return _explain_unbound(definitions, use)
    if not _is_used(node):
        return ""
    if reason := _explain_not_made(definitions, use) or _explain_not_in_scope(definitions, use):
        return reason
    if name in definitions.vendors or (definitions.has_variant(name) and not _has_own_gates(node)):
        return _explain_gated(definitions, use)
    return (
        _explain_unbound(definitions, use)
        if _is_local(node)
        else _explain_undefined(definitions, use)
    )


def _is_used(node: Node) -> bool:
    """Whether a name is used where it stands, and not declared there."""
    parent = node.parent
    if parent is None or is_declared(node):
        return False
    own = parent.child_by_field_name("name") == node
    return not (own and parent.type.endswith(("_item", "macro_definition")))


def _has_own_gates(node: Node) -> bool:
    """Whether conditions that nobody reads here may be on a name: those of tokens."""
    outer, top = node.parent, None
    while outer is not None and outer.type != "macro_definition":
        top = outer if outer.type == "token_tree" else top
        outer = outer.parent
    return outer is not None or (top is not None and b"cfg" in (top.text or b""))


def _is_local(node: Node) -> bool:
    """Whether a name may be that of a variable: it stands alone, in small letters."""
    parent = node.parent
    return (
        node.type == "identifier"
        and parent is not None
        and node_text(node)[:1].islower()
        and parent.type not in ("scoped_identifier", "scoped_use_list", "use_list", "use_as_clause")
    )


def _explain_undefined(definitions: Definitions, use: _Use) -> str:
    """Return why an item, a method or a field does not exist, although CUDA's does."""
    before = definitions.originals(use.piece.finding).get(use.name)
    if before is None or not definitions.has_item(before) or definitions.has_name(use.name):
        return ""
    return _MISSING.format(name=use.name)


def _explain_not_in_scope(definitions: Definitions, use: _Use) -> str:
    """Return why a type is not in scope, although CUDA's is declared or imported in the file."""
    words = definitions.ported.job.vendor.names.words.items()
    of_library = next((old for old, new in words if new == use.name), None)
    before = definitions.originals(use.piece.finding).get(use.name, of_library)
    parent = use.node.parent
    is_path = parent is not None and parent.type == "scoped_type_identifier"
    data = use.written.source.data
    if before is None or is_path or use.node.type != "type_identifier" or _GLOB.search(data):
        return ""
    if not _is_in_scope(data, before) or _is_in_scope(data, use.name):
        return ""
    return _MISSING.format(name=use.name)


def _is_in_scope(data: bytes, name: str) -> bool:
    """Whether a file declares or imports a type."""
    word = re.escape(name).encode()
    declared = rb"\b(?:struct|enum|type|trait|union)\s+%s\b|\buse\b[^;]*\b%s\b" % (word, word)
    return re.search(declared, data) is not None


def _explain_not_made(definitions: Definitions, use: _Use) -> str:
    """Return why a macro does not make a variant, although it makes CUDA's."""
    path, name = use.node.parent, use.name
    before = definitions.originals(use.piece.finding).get(name)
    if before is None or path is None or path.type != "scoped_identifier":
        return ""
    head = field_text(path, "path")
    scopes = use.written.scopes
    owner = find_self_type(path) if head == "Self" else scopes.resolve_name(path, head)
    owner = owner.rpartition("::")[2]
    if definitions.has_variant_of(owner, before) or not definitions.has_enum(owner):
        return ""
    return _MISSING.format(name=name) if definitions.is_argument_alone(before, name) else ""


def _explain_unbound(definitions: Definitions, use: _Use) -> str:
    """Return why a variable is not bound around the place, although CUDA's is."""
    source = use.written.source
    item = _find_item_around(use.node)
    if item is None or is_bound(use.name, item, source):
        return ""
    before = definitions.originals(use.piece.finding).get(use.name)
    if before is None:
        return ""
    if is_bound(before, item, source):
        return _MISSING.format(name=use.name)
    return _explain_undefined(definitions, use)


def _explain_no_field(definitions: Definitions, use: _Use, value: Node) -> str:
    holder = value.parent.parent if value.parent is not None else None
    if holder is None or holder.type != "struct_expression":
        return ""
    head = field_text(holder, "name")
    owner = find_self_type(holder) if head == "Self" else head
    scopes = use.written.scopes
    path = scopes.resolve_name(holder, owner) if "::" not in owner else owner
    name = re.sub(r"<.*", "", path.rpartition("::")[2])
    if not name:
        return ""
    has = definitions.has_field(name, use.name)
    if has:
        return ""
    if has is not None:
        return _MISSING.format(name=use.name)
    # A variant of an enum has fields as well.
    return "" if definitions.has_item(name) else _FOREIGN.format(name=use.name, owner=name)


def _explain_gated(definitions: Definitions, use: _Use) -> str:
    """Return why an item does not exist in a build that names it."""
    found = definitions.conditions(use.name)
    if not found:
        return ""
    path = use.written.source.path
    here = (
        *find_conditions_around(use.written.tree.root_node, use.node.start_byte),
        *definitions.file_conditions(path),
    )
    for on in definitions.find_builds(path, chain(here, *found)):
        if do_conditions_hold(here, on) and not any(do_conditions_hold(each, on) for each in found):
            return _GATED.format(name=use.name)
    return ""


def _find_item_around(node: Node) -> Node | None:
    outer = node.parent
    while outer is not None and outer.type not in _ITEMS:
        outer = outer.parent
    return outer
