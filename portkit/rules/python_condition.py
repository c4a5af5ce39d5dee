"""A Python condition that asks whether a name is that of CUDA's device.

``if name.startswith("cuda") or name == "cpu":`` tells devices from other arguments. It is widened:
``name.startswith("cuda") or name.startswith("rocm") or ..``. `or` binds weaker than every other
operator but the conditional expression (the Python reference, "Operator precedence"), so a question
inside another operator gains brackets.

Not handled: a question that is negated with ``!=``, and one outside a condition, which are listed
as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.python import renamed
from portkit.lang.source import field_text, node_text
from portkit.rules import Rule
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK523"

_INSIDE = frozenset({"boolean_operator", "not_operator", "parenthesized_expression"})
_CONDITIONAL = frozenset({"if_statement", "elif_clause", "while_statement"})


def check(site: Site) -> Iterator[Finding]:
    """Find a question whether a string names the source vendor."""
    job = site.job
    if not _asks(site.node, job.vendor.source):
        return
    condition = _condition(site.node)
    if condition is None:
        return
    copy = renamed(job.vendor.names, site.node)
    parent = site.node.parent
    alone = parent is None or parent.type in _CONDITIONAL or _operator(parent) == "or"
    start, end = site.node.start_byte, site.node.end_byte
    widened = f" or {copy}" if alone else f" or {copy})"
    yield emit.finding(
        site,
        CODE,
        "Python condition",
        f"{job.vendor.name} is a device as well",
        symbol=site.symbol(),
        status=Status.PORTED if copy in node_text(condition) else Status.TODO,
        edits=(
            (Edit(end, end, widened),)
            if alone
            else (Edit(start, start, "("), Edit(end, end, widened))
        ),
    )


def _asks(node: Node, source: str) -> bool:
    if node.type == "comparison_operator":
        sides = node.named_children
        return _operator(node) == "==" and any(_is_name(side, source) for side in sides)
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    return (
        function is not None
        and arguments is not None
        and field_text(function, "attribute") == "startswith"
        and len(arguments.named_children) == 1
        and _is_name(arguments.named_children[0], source)
    )


def _is_name(node: Node, source: str) -> bool:
    return node.type == "string" and any(
        child.type == "string_content" and node_text(child) == source for child in node.children
    )


def _operator(node: Node) -> str:
    """Return the operator of a node that has one."""
    operator = node.child_by_field_name("operator" if "boolean" in node.type else "operators")
    return node_text(operator)


def _condition(node: Node) -> Node | None:
    """Return the condition that a question is a part of, if it is."""
    while node.parent is not None and node.parent.type in _INSIDE:
        node = node.parent
    parent = node.parent
    if parent is None or parent.type not in _CONDITIONAL:
        return None
    return node if parent.child_by_field_name("condition") == node else None


RULE = Rule(CODE, "python_condition", frozenset({"call", "comparison_operator"}), check)
