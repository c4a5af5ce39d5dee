"""A branch that does something of CUDA's own.

``if cuda_is_available() { Device::new_cuda(0) } else if metal_is_available() { .. }`` has one
branch per backend. The chain gains a branch for ROCm, a copy of CUDA's condition and body, right
after it.

A branch that a name decides, ``if name == "cuda" { .. }``, is one as well.

A build script asks for a feature by ``CARGO_FEATURE_CUDA`` (the Cargo book, chapter "Environment
variables"). Both features may be on, so an ``if`` without ``else`` is followed by its copy.

A branch whose body names nothing of CUDA is a condition to widen instead (PK401).

Not handled: a branch for the absence of CUDA, ``if !device.is_cuda() { .. }``, whose body names
CUDA all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_range
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.device_check import branches, is_check
from portkit.tree.finding import Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK402"


def check(site: Site) -> Iterator[Finding]:
    """Find a branch of an ``if`` that is specific to the source vendor."""
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    if not _checks(site, condition) or not branches(site, site.node):
        return
    if _is_alone(site):
        yield from _followed(site)
        return
    branch = Span(condition.start_byte, body.end_byte)
    copy = copy_range(site.job, site.source, branch.start, branch.end, site.node, site.scope.symbol)
    wanted = {normal(site.job.rename(check)) for check in _checks(site, condition)}
    counterpart = next(
        (
            span
            for span in _chain(site.node)
            if any(check in normal(site.source.slice(span)) for check in wanted)
        ),
        None,
    )
    claims = [branch]
    if counterpart is not None:
        claims.append(counterpart)
    yield emit.finding(
        site,
        CODE,
        "if chain over devices",
        f"the chain gains a branch for {site.job.vendor.title}",
        status=Status.TODO if counterpart is None else Status.PORTED,
        edits=(Edit(body.end_byte, body.end_byte, f" else if {copy}"),),
        claims=tuple(claims),
        span=Span(site.node.start_byte, body.end_byte),
    )


def _is_alone(site: Site) -> bool:
    """Whether a place is a statement of a build script that does something for a feature."""
    parent = site.node.parent
    condition = node_text(site.node.child_by_field_name("condition"))
    return (
        parent is not None
        and parent.type == "expression_statement"
        and site.node.child_by_field_name("alternative") is None
        and _feature_variable(site) in condition
    )


def _followed(site: Site) -> Iterator[Finding]:
    """Have a statement followed by its copy."""
    statement = site.node.parent
    assert statement is not None and statement.parent is not None  # it stands in a block
    start, end = statement.start_byte, statement.end_byte
    copy = copy_range(site.job, site.source, start, end, site.node, site.scope.symbol)
    beside = (n for n in statement.parent.named_children if n.id != statement.id)
    standing = next((n for n in beside if normal(node_text(n)) == normal(copy)), None)
    claims = [Span(start, end)]
    if standing is not None:
        claims.append(Span(standing.start_byte, standing.end_byte))
    yield emit.finding(
        site,
        CODE,
        "if on a feature",
        f"the same for {site.job.vendor.title}",
        status=Status.TODO if standing is None else Status.PORTED,
        edits=(Edit(end, end, f"\n{site.source.indent(start)}{copy}"),),
        claims=tuple(claims),
        span=Span(start, end),
    )


def _feature_variable(site: Site) -> str:
    """Return the variable by which a build script asks for the source vendor's feature."""
    return f"CARGO_FEATURE_{site.job.vendor.source.upper()}"


def _asks(site: Site, node: Node) -> bool:
    """Whether a node asks for the source vendor: for its device, its name or its feature."""
    if node.type == "string_literal":
        return node_text(node) == f'"{_feature_variable(site)}"'
    if node.type == "binary_expression":
        name = f'"{site.job.vendor.source}"'
        operator = node_text(node.child_by_field_name("operator"))
        return operator == "==" and any(node_text(side) == name for side in node.named_children)
    return node.type in ("call_expression", "macro_invocation") and is_check(site, node)


def _checks(site: Site, condition: Node) -> list[str]:
    """Return the questions in a condition that are about the source vendor."""
    found: list[str] = []
    pending = [condition]
    while pending:
        node = pending.pop()
        if _asks(site, node):
            found.append(node_text(node))
        pending += node.named_children
    return found


def _chain(node: Node) -> list[Span]:
    """Return the spans of the conditions in the ``else if`` chain of a node."""
    conditions = [n.child_by_field_name("condition") for n in chain_of(node)]
    return [Span(c.start_byte, c.end_byte) for c in conditions if c is not None]


def chain_of(node: Node) -> Iterator[Node]:
    """Yield every ``if`` of the ``else if`` chain that a node is part of."""
    while node.parent is not None and node.parent.type == "else_clause":
        assert node.parent.parent is not None  # the `if` that the clause belongs to
        node = node.parent.parent
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        clause = current.child_by_field_name("alternative")
        pending += (c for c in (clause.named_children if clause else ()) if c.type == current.type)


RULE = Rule(CODE, "device_branch", frozenset({"if_expression"}), check)
