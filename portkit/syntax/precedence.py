"""The precedence of Rust's operators, and the operands that `||` may take without parentheses.

Source: the Rust reference, "Expression precedence", "Lazy boolean operators", "Let chains" in "if
expressions", and "let statements".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tree_sitter import Node

from portkit.syntax.source_file import field_text

_LEVELS: Final = (
    ("postfix",),
    ("unary",),
    ("as",),
    ("*", "/", "%"),
    ("+", "-"),
    ("<<", ">>"),
    ("&",),
    ("^",),
    ("|",),
    ("==", "!=", "<", ">", "<=", ">="),
    ("&&",),
    ("||",),
    ("..", "..="),
    ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="),
    ("return", "break", "closure"),
)
"""The operators, those that bind tightest first."""
_PRECEDENCE: Final[Mapping[str, int]] = {
    operator: level for level, operators in enumerate(_LEVELS) for operator in operators
}
_OPERAND_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "await_expression": ("postfix", ""),
    "call_expression": ("postfix", "function"),
    "field_expression": ("postfix", "value"),
    "index_expression": ("postfix", ""),
    "let_chain": ("&&", ""),
    "range_expression": ("..", ""),
    "reference_expression": ("unary", ""),
    "return_expression": ("return", ""),
    "try_expression": ("postfix", ""),
    "type_cast_expression": ("as", "value"),
    "unary_expression": ("unary", ""),
}
"""Each kind of node that has an operand: its operator, and the field of the operand. Without a
field the first named child is the operand, or in a `let_chain` each child."""
_WITH_OPERATOR: Final = frozenset({"binary_expression", "compound_assignment_expr"})


def requires_parentheses(node: Node, operator: str = "||") -> bool:
    """Tell whether an expression needs parentheses if an operator joins another one to it."""
    parent = node.parent
    if parent is None:
        return False
    before = node.prev_sibling
    if before is not None and before.type == "attribute_item":
        return True  # the attribute would apply to the first operand
    if parent.type == "let_condition":
        return True  # the scrutinee excludes lazy boolean operators
    if parent.type == "let_declaration":
        return parent.child_by_field_name("alternative") is not None
    around = _operator_around(parent, node)
    return around in _PRECEDENCE and _PRECEDENCE[around] < _PRECEDENCE[operator]


def join_by_or(node: Node, text: str, added: str) -> str:
    """Join an expression to another one by `||`, in parentheses if it needs them."""
    joined = f"{text} || {added}"
    return f"({joined})" if requires_parentheses(node) else joined


def is_or(node: Node | None) -> bool:
    """Tell whether an expression joins two by `||`."""
    return (
        node is not None
        and node.type == "binary_expression"
        and field_text(node, "operator") == "||"
    )


def _operator_around(parent: Node, node: Node) -> str:
    """Return the operator whose operand an expression is, or an empty string."""
    if parent.type in _WITH_OPERATOR:
        return field_text(parent, "operator")
    operator, field = _OPERAND_FIELDS.get(parent.type, ("", ""))
    if parent.type in ("let_chain", "range_expression"):
        return operator
    if field:
        operand = parent.child_by_field_name(field)
    else:
        operand = next((c for c in parent.named_children if c.type != "mutable_specifier"), None)
    return operator if operand is not None and operand.id == node.id else ""
