"""A condition that asks for a peer, such as ``is_metal()``.

Such a condition works around what one platform lacks, or takes what only it has. It does not hold
on ROCm, as on CUDA, and nothing is written. The reason behind it may hold on AMD as well, so the
finding is ``review``. It says whether ROCm takes the branch, which it does if the condition is
negated. A decision, in the profile or in ``portkit.toml``, settles it: it is left alone with that
reason, and no person is asked about it again.

Where the decision is that ROCm has what the peer has (``join``), the condition holds for it too:
``device.is_metal() || device.is_rocm()``.

Not handled: a question that is kept in a variable. What is chosen by it later is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.device_queries import (
    find_deciding_node,
    find_decision,
    read_callee_name,
    translate_peer_query,
)
from portkit.context.intent import Intent, LeaveUnchanged, WidenCondition
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.source_file import field_text, node_text


def check(site: Site) -> Iterator[Intent]:
    """Find a call that asks whether the device is a peer's."""
    job, name = site.job, read_callee_name(site.node)
    if name not in {f"is_{p}" for p in job.vendor.peers} or site.scope.vendor:
        return
    holder = find_deciding_node(site)
    condition = holder.child_by_field_name("condition")
    construct = f"{name} check"
    if job.mentions_cuda(node_text(condition if condition is not None else holder)):
        yield LeaveUnchanged(construct, "the condition names CUDA as well, and is decided there")
        return
    found = find_decision(site, holder, of_peer=True)
    known = found.by
    if known is not None and known.verdict == "join":
        yield WidenCondition(
            construct,
            known.reason,
            entry=found.entry,
            shadowed=found.shadowed,
            condition=site.node,
            within=holder,
            copy=translate_peer_query(job, site.code),
        )
        return
    yield LeaveUnchanged(
        construct,
        known.reason if known else _said(site, holder, name),
        review=known is None,
        entry=found.entry,
        shadowed=found.shadowed,
    )


def _said(site: Site, holder: Node, name: str) -> str:
    """Return what follows for the written vendor, as far as the syntax shows it."""
    title = site.job.vendor.title
    inner, outer = site, site.outer
    while outer is not None and (
        outer.kind == "parenthesized_expression"
        or (outer.kind == "binary_expression" and field_text(outer.node, "operator") == "&&")
    ):
        inner, outer = outer, outer.outer
    (around, at) = outer or inner, inner.node.id
    if around.kind == "unary_expression":
        return (
            f"`{name}()` is negated here, so it holds for {title}. Check that {title} should do"
            " what follows"
        )
    condition = holder.child_by_field_name("condition") if holder.type == "if_expression" else None
    if condition is not None and condition.id == at:
        return (
            f"`{name}()` is false on {title}, so {title} does not take this branch. Check whether"
            " AMD lacks what the branch works around"
        )
    return f"`{name}()` is false on {title}. Check what depends on it"


RULE = SiteRule("PK405", frozenset({"call_expression"}), check)
