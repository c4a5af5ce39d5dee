"""A condition that portkit widens stays one operand of what stands around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.checks.ported_tree import Refusal
from portkit.context.macro_fragments import parse_arguments, parse_body
from portkit.syntax.precedence import is_or, requires_parentheses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.checks.ported_tree import PortedTree, WrittenFile
    from portkit.context.macro_fragments import Known
    from portkit.workspace.edits import Piece

_SPLIT: Final = (
    "With this edit the two sides of || belong to different operands. The condition would mean"
    " something else. Widen it by hand."
)
_TOKENS: Final = frozenset({"macro_invocation", "macro_rule"})


def check_operands(ported: PortedTree) -> Iterator[Refusal]:
    """Refuse a widened condition that is not exactly one node of the written tree.

    Args:
        ported: the tree after the port.
    """
    for written in ported.find_written_files(".rs"):
        known: Known = {}
        chains: dict[int, bool] = {}
        for piece in written.pieces:
            if _is_widening(written, piece) and not _is_operand(written, piece, known, chains):
                yield Refusal((piece.finding,), _SPLIT)


def _is_widening(written: WrittenFile, piece: Piece) -> bool:
    """Tell whether an edit writes an expression, `||` and another one in place of the first."""
    text = written.source.text(piece.start, piece.end)
    if written.before is None or " || " not in text:
        return False
    for edit in piece.finding.edits:
        old = written.before.text(edit.start, edit.end)
        if old and edit.text == text and text.startswith((f"{old} || ", f"({old} || ")):
            return True
    return False


def _is_operand(written: WrittenFile, piece: Piece, known: Known, chains: dict[int, bool]) -> bool:
    root: Node | None = written.tree.root_node
    while root is not None:
        node = root.descendant_for_byte_range(piece.start, piece.end)
        tokens = _find_tokens(node)
        if tokens is None:
            return node is not None and _is_whole(node, piece, chains)
        root = _parse_tokens(written, tokens, piece, known)
    return True  # these tokens are no expression, so that no operand is known


def _find_tokens(node: Node | None) -> Node | None:
    """Return the macro among whose tokens a node stands."""
    if node is None or "token" not in node.type:
        return None
    while node is not None and node.type not in _TOKENS:
        node = node.parent
    return node


def _parse_tokens(written: WrittenFile, macro: Node, piece: Piece, known: Known) -> Node | None:
    """Return the part of a macro's tokens that holds what an edit writes, parsed."""
    if macro.type == "macro_rule":
        return parse_body(written.source, macro, known)
    arguments = parse_arguments(written.source, macro, known)
    return next((a for a in arguments if a.start_byte <= piece.start < a.end_byte), None)


def _is_whole(node: Node, piece: Piece, chains: dict[int, bool]) -> bool:
    """Tell whether an edit writes one node, or operands that follow each other in one chain."""
    if node.type == "parenthesized_expression":
        return (node.start_byte, node.end_byte) == (piece.start, piece.end)
    return _are_operands(node, piece) and not _needs_parentheses(node, chains)


def _are_operands(node: Node, piece: Piece) -> bool:
    """Tell whether an edit writes whole operands of `||`; the node is the least that holds it."""
    if not is_or(node):
        return is_or(node.parent) and (node.start_byte, node.end_byte) == (piece.start, piece.end)
    if node.end_byte != piece.end:
        return False
    while is_or(node):
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        assert left is not None  # an operator has both sides
        assert right is not None
        if right.start_byte <= piece.start:
            return right.start_byte == piece.start
        node = left
    return node.start_byte == piece.start


def _needs_parentheses(node: Node, chains: dict[int, bool]) -> bool:
    """Tell whether the chain of `||` around a node stands where it needs parentheses.

    Args:
        node: a part of the chain.
        chains: what is known, by the node's id; each link of a long chain is gone up once.
    """
    passed = []
    while node.id not in chains and is_or(node.parent):
        passed.append(node.id)
        assert node.parent is not None  # it was looked at
        node = node.parent
    found = chains[node.id] if node.id in chains else requires_parentheses(node)
    chains.update(dict.fromkeys([*passed, node.id], found))
    return found
