"""A Python condition that asks whether a name is that of CUDA's device.

``if name.startswith("cuda") or name == "cpu":`` tells devices from other arguments. It is widened:
``name.startswith("cuda") or name.startswith("rocm") or ..``. `or` binds weaker than every other
operator but the conditional expression (the Python reference, "Operator precedence"), so a question
inside another operator gains brackets.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: a question that is negated with ``!=``, and one outside a condition, which are listed
as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.intent import Intent, WidenCondition
from portkit.context.python_files import belongs_to_rust_module
from portkit.rules import SiteRule
from portkit.syntax.python_nodes import CONDITIONAL, read_operator
from portkit.syntax.source_file import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import Site


_INSIDE = frozenset({"boolean_operator", "not_operator", "parenthesized_expression"})


def check(site: Site) -> Iterator[Intent]:
    """Find a question whether a string names the source vendor."""
    job = site.job
    condition = _condition(site) if _asks(site.node, job.vendor.source) else None
    if condition is not None and belongs_to_rust_module(site):
        yield WidenCondition(
            "Python condition",
            f"{job.vendor.name} is a device as well",
            condition=site.node,
            within=condition,
        )


def _asks(node: Node, source: str) -> bool:
    if node.type == "comparison_operator":
        sides = node.named_children
        return read_operator(node) == "==" and any(_is_name(side, source) for side in sides)
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


def _condition(site: Site) -> Node | None:
    """Return the condition that a question is a part of, if it is."""
    while site.outer is not None and site.outer.kind in _INSIDE:
        site = site.outer
    parent = site.parent
    if parent is None or parent.type not in CONDITIONAL:
        return None
    return site.node if parent.child_by_field_name("condition") == site.node else None


RULE = SiteRule("PK523", frozenset({"call", "comparison_operator"}), check)
