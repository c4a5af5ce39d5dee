"""An ``if let`` on a value of the CUDA backend.

``if let Device::Cuda(_) = device { .. }`` runs a step for CUDA alone. Where the pattern binds
nothing and the body names nothing of CUDA, ROCm joins the pattern, for a person to review.
Otherwise ROCm gets a step of its own, since a binding has one type: a copy of the statement after
it, or, where an ``else`` follows, one more branch of the chain.

With ``--gating cfg`` a pattern and a branch of a chain cannot stand under the feature; the
statement is copied under it, and a chain with an ``else`` is left to a person. Not handled: ``while
let``, ``let .. else`` and chains of ``let`` conditions; they are listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_range, copy_site
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.rules.device_branch import chain_of
from portkit.rules.match_arm import pattern_key
from portkit.site.context import Gating, Site
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

CODE = "PK403"


def check(site: Site) -> Iterator[Finding]:
    """Find an ``if let`` on a value of the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    pattern = condition.child_by_field_name("pattern")
    if pattern is None or not job.renames_code(node_text(pattern)):
        return
    renamed = job.rename(node_text(pattern))
    wanted = pattern_key(renamed)
    has_else = site.node.child_by_field_name("alternative") is not None
    binds = "(_)" not in node_text(pattern).replace(" ", "")
    applicability, message = Applicability.SAFE, f"a step of its own for {job.vendor.title}"
    branch = Span(condition.start_byte, body.end_byte)
    if not binds and not job.renames_code(node_text(body)) and job.gating is Gating.DUMMY:
        standing = set(wanted) <= set(pattern_key(node_text(condition)))
        applicability = Applicability.REVIEW
        message = f"the step runs for {job.vendor.title} too: see that it is needed there"
        branch = Span(condition.start_byte, condition.end_byte)
        edit = Edit(pattern.end_byte, pattern.end_byte, f" | {renamed}")
    elif has_else:
        standing = any(_asks(c, wanted) for c in chain_of(site.node))
        if job.gating is Gating.CFG and not standing:
            applicability = Applicability.MANUAL
            message = "a branch of a chain cannot stand under a feature: make it a match, by hand"
        copy = copy_range(job, site.source, branch.start, branch.end, site.node, site.scope.symbol)
        edit = Edit(body.end_byte, body.end_byte, f" else if {copy}")
    else:
        copy = copy_site(site)
        standing = _stands_beside(site, copy, wanted)
        edit = emit.insertion(site, emit.gated(site, copy))
    yield emit.finding(
        site,
        CODE,
        "if let on a device",
        message,
        applicability=applicability,
        status=Status.PORTED if standing else Status.TODO,
        edits=(edit,),
        claims=(branch,),
    )


def _asks(node: Node, wanted: tuple[str, ...]) -> bool:
    """Whether an ``if`` matches on what ``wanted`` says."""
    condition = node.child_by_field_name("condition")
    pattern = condition.child_by_field_name("pattern") if condition is not None else None
    return pattern is not None and pattern_key(node_text(pattern)) == wanted


def _stands_beside(site: Site, copy: str, wanted: tuple[str, ...]) -> bool:
    """Whether the step stands in the same block: the copy itself, or one that a person wrote."""
    statement = site.node.parent
    block = statement.parent if statement is not None else None
    if statement is None or statement.type != "expression_statement" or block is None:
        return False
    steps = [c.named_children[0] for c in block.named_children if c.type == statement.type]
    texts = {s.start_byte: normal(node_text(s)) for s in steps}
    twins = [at for at, text in texts.items() if text == normal(site.code)]
    matches = [Span(at, at) for at, text in texts.items() if text == normal(copy)]
    if emit.one_of(site.node.start_byte, twins, matches) is not None:
        return True
    copies = {normal(site.job.rename(node_text(s))) for s in steps}
    return any(_asks(s, wanted) and texts[s.start_byte] not in copies for s in steps)


RULE = Rule(CODE, "if_let", frozenset({"if_expression"}), check)
