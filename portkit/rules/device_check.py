"""A condition that asks whether the device is CUDA's.

``device.is_cuda()`` and ``cfg!(feature = "cuda")`` choose a dtype, a tolerance or a faster path.
ROCm joins where the same holds on AMD: ``device.is_cuda() || device.is_rocm()``. That is a decision
and not a renaming, so it comes from the table of decisions in the profile. What the table does not
list is written and marked ``review``; what it says to keep is left alone, with its reason, and is
marked ``review`` as well.

Without it the code compiles and takes the wrong path; rustc does not notice.

Not handled: a question that is kept in a variable. It is widened like any other, but what is chosen
by it later is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.cfg import widen
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK401"

_TIGHTER = frozenset({"&&", "==", "!="})


def check(site: Site) -> Iterator[Finding]:
    """Find a condition on the source vendor's device that stands in no branch of its own."""
    if site.scope.vendor or not is_check(site, site.node):
        return
    holder = decision_holder(site.node)
    if holder.type == "if_expression" and branches(site, holder):
        return
    yield from widened(site, CODE, holder)


def widened(site: Site, code: str, holder: Node) -> Iterator[Finding]:
    """Say what the profile decides about one condition."""
    job = site.job
    text = site.code
    # Both sides of the decision count: the construct, and the item that follows from it.
    around = site.source.text(holder.start_byte, holder.end_byte)
    decision = next(
        (
            c
            for c in job.codebase.conditions
            if c.verdict != "peer" and c.applies(site.source.path, around)
        ),
        None,
    )
    construct = _construct(site, holder)
    if decision is not None and decision.verdict == "keep":
        yield emit.finding(
            site,
            code,
            construct,
            decision.reason,
            applicability=Applicability.REVIEW,
            status=Status.NONE,
        )
        return
    renamed = job.rename(text)
    stands = normal(renamed) in normal(around)
    if text.startswith("cfg!"):
        new = widen(text, job.vendor.source, job.vendor.name)
        stands = f'feature="{job.vendor.name}"' in normal(text)
    else:
        new = f"{text} || {renamed}"
        if _needs_parentheses(site.node):
            new = f"({new})"
    yield emit.finding(
        site,
        code,
        construct,
        decision.reason
        if decision
        else f"the port widens the condition to {job.vendor.title}; no decision in the profile "
        "speaks of it, so see whether the same holds on AMD",
        applicability=Applicability.SAFE if decision else Applicability.REVIEW,
        status=Status.PORTED if stands else Status.TODO,
        edits=(Edit(site.node.start_byte, site.node.end_byte, new),),
        claims=(Span(site.node.start_byte, site.node.end_byte),),
    )


def is_check(site: Site, node: Node) -> bool:
    """Whether a node asks for the source vendor: a call such as ``is_cuda()``, or ``cfg!``."""
    text = node_text(node)
    if node.type == "macro_invocation":
        return text.startswith("cfg!") and site.job.names_source(text)
    function = node.child_by_field_name("function")
    name = node_text(function).rsplit(".", 1)[-1].rsplit("::", 1)[-1]
    source = site.job.vendor.source
    return name in (f"is_{source}", f"{source}_is_available")


def decision_holder(node: Node) -> Node:
    """Return the ``if`` whose condition a node is part of, else the statement around it."""
    current = node
    while current.parent is not None:
        parent = current.parent
        if parent.type == "if_expression":
            condition = parent.child_by_field_name("condition")
            if condition is not None and condition.id == current.id:
                return parent
        if parent.type in ("block", "let_declaration", "source_file", "field_initializer"):
            return parent if parent.type == "let_declaration" else current
        current = parent
    return current


def branches(site: Site, holder: Node) -> bool:
    """Whether the branch of an ``if`` is specific to the source vendor."""
    body = holder.child_by_field_name("consequence")
    return body is not None and site.job.renames_code(node_text(body))


def _construct(site: Site, holder: Node) -> str:
    condition = holder.child_by_field_name("condition")
    text = node_text(condition) if condition is not None else site.code
    peer = "/is_metal" if "is_metal" in text else ""
    if site.code.startswith("cfg!"):
        return "cfg! check"
    return f"is_{site.job.vendor.source}{peer} check"


def _needs_parentheses(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "binary_expression":
        operator = parent.child_by_field_name("operator")
        return node_text(operator) in _TIGHTER
    return parent.type in ("unary_expression", "field_expression", "reference_expression")


RULE = Rule(CODE, "device_check", frozenset({"call_expression", "macro_invocation"}), check)
