"""A copied branch gives a value of the type that its function returns.

``Device::Cuda(c) => Some(c)`` gives CUDA's device, and its copy gives another type. A function that
returns ``Option<&CudaDevice>`` cannot return that, and the arms of one ``match`` have one type
(rustc: E0308).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import Definitions, find_vendor_names, list_vendor_spellings
from portkit.checks.ported_tree import Refusal
from portkit.checks.scopes import find_self_type
from portkit.syntax.patterns import find_bindings
from portkit.syntax.source_file import field_text, find_descendants, node_text
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree
    from portkit.context.port_job import PortJob
    from portkit.workspace.edits import Piece

_RETURNS: Final = (
    "The copy of this branch would give a value of {title}'s type, and the function returns"
    " `{type}`. No build would compile. Write a function for {title} by hand."
)
_ARMS: Final = (
    "The copy of this branch would give a value of another type than this one gives. No build would"
    " compile. Write by hand what {title} does here."
)
_HANDS_ON: Final = frozenset(
    {
        "expression_statement",
        "parenthesized_expression",
        "reference_expression",
        "return_expression",
    }
)
_WRAPPERS: Final = frozenset({"Ok", "Some"})
_SAME: Final = frozenset({"as_mut", "as_ref", "clone", "to_owned"})
"""Methods whose value has the type of what they are called on, or refers to it."""


class _Branch(Value, frozen=True):
    """A branch that is taken for values that a pattern matches.

    Attributes:
        pattern: the pattern.
        value: its code.
    """

    pattern: Node
    value: Node

    @property
    def bound(self) -> frozenset[str]:
        """The names that the pattern binds."""
        return frozenset(map(node_text, find_bindings(self.pattern)))

    @property
    def gives_bound(self) -> bool:
        """Whether the value is what the pattern binds, and nothing is made of it."""
        return _strip(self.value) in self.bound


def check_branch_types(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a copied branch whose value has another type than its place requires.

    Args:
        ported: the tree after the port.
    """
    definitions, title = ported.definitions, ported.job.vendor.title
    for written in ported.find_edited_files(".rs"):
        seen: set[int] = set()
        for _, node, piece in find_vendor_names(ported, written):
            branch = _find_branch(node, piece)
            if branch is None or branch.value.id in seen:
                continue
            seen.add(branch.value.id)
            answer = _find_answer(branch.value, piece)
            if answer is None:
                continue  # the function is a copy
            if ported.job.rename(answer) != answer:
                if _is_of_vendor(ported, branch):
                    yield Refusal((piece.finding,), _RETURNS.format(title=title, type=answer))
            elif "dyn " not in answer and _differs(definitions, branch):
                yield Refusal((piece.finding,), _ARMS.format(title=title))


def _find_branch(node: Node, piece: Piece) -> _Branch | None:
    """Return the written branch in whose pattern a node is."""
    inner = node
    while inner.parent is not None and inner.parent.start_byte >= piece.start - 1:
        outer = inner.parent
        if outer.type == "match_arm" and outer.child_by_field_name("pattern") == inner:
            value = outer.child_by_field_name("value")
            return _Branch(inner, value) if value is not None else None
        if outer.type == "let_condition" and outer.child_by_field_name("pattern") == inner:
            value = _find_consequence(outer)
            return _Branch(inner, value) if value is not None else None
        inner = outer
    return None


def _find_consequence(condition: Node) -> Node | None:
    outer: Node | None = condition
    while outer is not None and outer.type in ("let_condition", "let_chain"):
        outer = outer.parent
    return outer.child_by_field_name("consequence") if outer is not None else None


def _find_answer(node: Node, piece: Piece) -> str | None:
    """Return the type that the function or closure around a node returns; None in a copied one."""
    outer = node.parent
    while outer is not None:
        if outer.type == "function_item" and piece.start <= outer.start_byte:
            return None
        if outer.type == "function_item" or (
            outer.type == "closure_expression" and field_text(outer, "return_type")
        ):
            return field_text(outer, "return_type")
        outer = outer.parent
    return None


def _is_of_vendor(ported: PortedTree, branch: _Branch) -> bool:
    """Whether a value names what the pattern binds, or something of the written vendor's."""
    vendor = re.compile("|".join(list_vendor_spellings(ported.job)))
    kinds = ("identifier", "type_identifier")
    names = [branch.value] if branch.value.type in kinds else []
    names += (node for kind in kinds for node in find_descendants(branch.value, kind))
    return any(node_text(n) in branch.bound or vendor.search(node_text(n)) for n in names)


def _differs(definitions: Definitions, branch: _Branch) -> bool:
    """Whether a value has another type than that of the branch which it copies."""
    job = definitions.ported.job
    if not branch.gives_bound or any(each.gives_bound for each in _find_others(job, branch)):
        return False
    path = next(iter(find_descendants(branch.pattern, "scoped_identifier")), None)
    if path is None:
        return False
    enum = field_text(path, "path").rpartition("::")[2]
    owner = find_self_type(path) if enum == "Self" else enum
    held = definitions.find_payloads(field_text(path, "name"), owner)
    vendor = re.compile("|".join(list_vendor_spellings(job)))
    return bool(held) and all(map(vendor.search, held))


def _find_others(job: PortJob, branch: _Branch) -> Iterator[_Branch]:
    """Yield the arms beside one that are of no vendor which has a copy."""
    arm = branch.pattern.parent
    block = arm.parent if arm is not None and arm.type == "match_arm" else None
    for each in block.named_children if block is not None else ():
        pattern, value = (each.child_by_field_name(name) for name in ("pattern", "value"))
        if pattern is None or value is None or each == arm:
            continue
        if job.rename(node_text(pattern)) == node_text(pattern):
            yield _Branch(pattern, value)


def _strip(node: Node) -> str:
    """Return the name that a value is, below what keeps its type or wraps it."""
    while (inner := _find_inner(node)) is not None:
        node = inner
    return node_text(node) if node.type == "identifier" else ""


def _find_inner(node: Node) -> Node | None:
    """Return what an expression hands on, with its type or wrapped."""
    if node.type == "call_expression":
        return _find_wrapped(node)
    handed = node.named_children
    is_block = node.type == "block" and len(handed) == 1
    return handed[-1] if handed and (is_block or node.type in _HANDS_ON) else None


def _find_wrapped(call: Node) -> Node | None:
    """Return what a call wraps, or refers to."""
    function, arguments = (call.child_by_field_name(n) for n in ("function", "arguments"))
    given = arguments.named_children if arguments is not None else []
    if function is None:
        return None
    if function.type == "identifier" and node_text(function) in _WRAPPERS and len(given) == 1:
        return given[0]
    if function.type == "field_expression" and field_text(function, "field") in _SAME and not given:
        return function.child_by_field_name("value")
    return None
