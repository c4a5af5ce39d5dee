"""The part of Jinja's language that a template may use, and the counting of its steps.

Each loop, macro, block and template counts the steps of its body when it is run. What Jinja would
do without telling the environment, such as to join texts or to make a list, becomes a call of it.
"""

from __future__ import annotations

from typing import Final

from jinja2 import TemplateSyntaxError, nodes
from jinja2.visitor import NodeTransformer

CHARGE: Final = "charge"
JOIN: Final = "join_texts"
HOLD: Final = "hold"
"""Methods of the environment that a template calls without naming them."""
MOST: Final = 20_000
"""How many parts a template may have; the largest of portkit's own has 600."""
_DEEPEST: Final = 60  # How deep the parts of a template may lie in each other.
_NODES: Final = frozenset(
    {
        *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Block, nodes.Extends),
        *(nodes.Include, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock, nodes.With),
        *(nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Call, nodes.Keyword),
        *(nodes.Filter, nodes.Test, nodes.Name, nodes.Const, nodes.Tuple, nodes.List),
        *(nodes.Dict, nodes.Pair, nodes.CondExpr, nodes.Getattr, nodes.Getitem, nodes.Slice),
        *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat),
        *(nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
    }
)

_HAVE_BODIES: Final = (*(nodes.Template, nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block),)


def prepare_template(template: nodes.Template, name: str) -> tuple[nodes.Template, int]:
    """Check that a template uses only allowed syntax, and have it count its steps.

    Returns:
        The template, and how many parts it has.
    """
    number = _check(template, name)
    prepared: nodes.Template = _Counting().visit(template)
    return prepared, number


def _check(template: nodes.Template, name: str) -> int:
    number, pending = 0, [(template, 0)]
    while pending:
        node, depth = pending.pop()
        number += 1
        reason = _find_fault(node)
        if number > MOST:
            reason = f"it has more than {MOST:,} parts"
        elif depth > _DEEPEST:
            reason = f"its parts lie more than {_DEEPEST} deep in each other"
        if reason:
            raise TemplateSyntaxError(reason, getattr(node, "lineno", 1) or 1, name)
        pending += [(child, depth + 1) for child in node.iter_child_nodes()]  # type: ignore[misc]
    return number


def _find_fault(node: nodes.Node) -> str:
    """Return why a node may not be in a template, or an empty string."""
    if type(node) not in _NODES:
        return f"it may not use {type(node).__name__!r} of Jinja"
    if isinstance(node, nodes.Include | nodes.Extends):
        said = node.template
        if not (isinstance(said, nodes.Const) and isinstance(said.value, str)):
            return "it includes or extends a template that it does not name"
    if isinstance(node, nodes.Const) and not isinstance(node.value, str | int | None):
        return "it has a number that is not whole"
    if isinstance(node, nodes.Call) and not isinstance(node.node, nodes.Name):
        return "it calls a method, and a template has none: it has values, filters and macros"
    if isinstance(node, nodes.For) and node.recursive:
        return "it has a recursive loop"
    if isinstance(node, nodes.Name) and node.name == "self":
        return "it names 'self'"
    return ""


class _Counting(NodeTransformer):
    """Sets calls of the environment into a template."""

    def generic_visit(self, node: nodes.Node, *args: object, **kwargs: object) -> nodes.Node:
        steps = 1 + sum(1 for _ in node.find_all(nodes.Node)) if _has_body(node) else 0
        super().generic_visit(node, *args, **kwargs)
        if isinstance(node, _HAVE_BODIES):
            charge = _call(node, CHARGE, [nodes.Const(steps, lineno=node.lineno)])
            node.body.insert(0, nodes.ExprStmt(charge, lineno=node.lineno))
        if isinstance(node, nodes.For) and node.test is not None:
            charge = _call(node, CHARGE, [nodes.Const(steps, lineno=node.lineno)])
            node.test = nodes.And(charge, node.test, lineno=node.lineno)
        if isinstance(node, nodes.Concat):
            return _call(node, JOIN, node.nodes)
        if isinstance(node, nodes.Compare):
            node.expr = _call(node, HOLD, [node.expr])
            for operand in node.ops:
                operand.expr = _call(node, HOLD, [operand.expr])
        if isinstance(node, nodes.Expr) and _makes_value(node):
            return _call(node, HOLD, [node])
        return node


def _makes_value(node: nodes.Expr) -> bool:
    """Whether a node makes a list, a mapping or a part of a text without a call."""
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Slice)
    is_tuple = isinstance(node, nodes.Tuple) and node.ctx == "load"
    return is_tuple or isinstance(node, nodes.List | nodes.Dict)


def _has_body(node: nodes.Node) -> bool:
    return isinstance(node, _HAVE_BODIES)


def _call(node: nodes.Node, method: str, arguments: list[nodes.Expr]) -> nodes.Call:
    called = nodes.EnvironmentAttribute(method, lineno=node.lineno)
    return nodes.Call(called, arguments, [], None, None, lineno=node.lineno)
