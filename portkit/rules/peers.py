"""Code that belongs to a peer of CUDA, such as Metal."""

from __future__ import annotations

import re
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
from portkit.port import counterparts
from portkit.port.host_fallback import find_on_host
from portkit.profiles.entries import Guard
from portkit.rules import SiteRule
from portkit.syntax.items import describe_item, find_items
from portkit.syntax.source_file import field_text, group_attributes, node_text, span_of
from portkit.syntax.span import Span

_WHOLE = frozenset(
    {
        "const_item",
        "enum_variant",
        "function_item",
        "function_signature_item",
        "impl_item",
        "macro_definition",
        "match_arm",
        "mod_item",
        "static_item",
        "struct_item",
        "type_item",
        "use_declaration",
        "if_expression",
        "let_declaration",
        "expression_statement",
    }
)
_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "string_content", "metavariable"}
)


def check_peer(site: Site) -> Iterator[Intent]:
    """Find an item of a peer's, a single name of one, or a condition on one."""
    if site.scope.vendor == site.job.vendor.source:
        return
    # The texts of large items come last: most sites are told by a name.
    found = list(_check_peer_item(site))
    if found and not _is_others(site):
        yield from found


def _check_peer_item(site: Site) -> Iterator[Intent]:
    job = site.job
    if site.kind in _WHOLE and _is_about_peer(site) and not job.mentions_cuda(site.text):
        yield _keep(site, site.kind.removesuffix("_item").replace("_", " "), site.span)
    elif site.kind in _NAMES and _is_peers_name(site):
        yield _keep(site, site.kind.replace("_", " "), site.span)
    else:
        for attribute, cfg in site.conditions:
            if cfg.features() & {*job.vendor.peers} and not job.cfg_mentions_cuda(cfg):
                yield _keep(site, "condition", span_of(attribute))


def _keep(site: Site, construct: str, claim: Span) -> Intent:
    peer = site.job.vendor.peers[0]
    return LeaveUnchanged(
        f"{peer}: {construct}",
        f"it belongs to {peer.capitalize()}; ROCm follows CUDA",
        symbol=site.symbol(site.name),
        claims=(claim,),
    )


def _is_peers_name(site: Site) -> bool:
    parent = site.parent
    return (
        site.job.mentions_peer(site.code)
        and not site.job.mentions_cuda(site.code)
        and (parent is None or "string" not in parent.type)
    )


def _is_others(site: Site) -> bool:
    """Whether a place is a matter of PK405, PK514 or PK803: a question, or an operation."""
    if find_on_host(site) is not None:
        return True
    for peer in site.job.vendor.peers:
        if site.kind in _NAMES and site.code == f"is_{peer}":
            return True
        of, _, operation = site.name.partition("_")
        if of == peer and operation and site.scope.container == "trait impl":
            return not counterparts.list_siblings_named(
                site, f"{site.job.vendor.source}_{operation}"
            )
    return False


def _is_about_peer(site: Site) -> bool:
    """Whether an item is the peer's as a whole: by its name, its condition or its pattern."""
    job = site.job
    if any(site.requires(p) for p in job.vendor.peers):
        return True
    if site.kind == "match_arm":
        pattern = site.node.child_by_field_name("pattern")
        return pattern is not None and job.mentions_peer(node_text(pattern))
    if site.kind == "expression_statement" and any(
        child.type == "macro_invocation" for child in site.node.named_children[:1]
    ):
        # The macro may take an argument for each backend.
        return False
    if site.kind in ("use_declaration", "expression_statement", "let_declaration"):
        return "is_metal" not in site.code and job.mentions_peer(site.code)
    if site.kind == "if_expression":
        condition = site.node.child_by_field_name("condition")
        text = node_text(condition)
        return job.mentions_peer(text) and "is_metal()" not in text
    if site.kind == "impl_item":
        type_name = site.node.child_by_field_name("type")
        return type_name is not None and job.mentions_peer(node_text(type_name))
    return job.mentions_peer(site.name)


_PEER_PAGE = """\
A place that belongs to a peer of CUDA, such as Metal.

ROCm is derived from CUDA's side, so the peer's side is left alone. Such places are counted, since a
token that nobody has accounted for is an error here.

Nothing is written here.
"""
PEER = SiteRule("PK802", frozenset({"*"}), check_peer, "peer", _PEER_PAGE)


def check_peer_check(site: Site) -> Iterator[Intent]:
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
        known.reason if known else _describe_effect(site, holder, name),
        review=known is None,
        entry=found.entry,
        shadowed=found.shadowed,
    )


def _describe_effect(site: Site, holder: Node, name: str) -> str:
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


_PEER_CHECK_PAGE = """\
A condition that asks for a peer, such as ``is_metal()``.

Such a condition works around what one platform lacks, or takes what only it has. It does not hold
on ROCm, as on CUDA, and nothing is written. The reason behind it may hold on AMD as well, so the
finding is ``review``. It says whether ROCm takes the branch, which it does if the condition is
negated. A decision, in the profile or in ``portkit.toml``, settles it: it is left alone with that
reason, and no person is asked about it again.

Where the decision is that ROCm has what the peer has (``join``), the condition holds for it too:
``device.is_metal() || device.is_rocm()``.

Not handled: a question that is kept in a variable. What is chosen by it later is not looked at.
"""
PEER_CHECK = SiteRule(
    "PK405", frozenset({"call_expression"}), check_peer_check, "peer_check", _PEER_CHECK_PAGE
)


def check_peer_operation(site: Site) -> Iterator[Intent]:
    """Find an implementation with a peer's method and none of the source vendor."""
    job = site.job
    body = site.node.child_by_field_name("body")
    if site.scope.vendor or body is None or not field_text(site.node, "trait"):
        return
    names = {field_text(c, "name") for c in body.named_children if c.type == "function_item"}
    plain, host = (
        job.codebase.find_no_feature_entry(site.source.path) is not None,
        job.codebase.host,
    )
    for method in sorted(names):
        peer, _, operation = method.partition("_")
        if peer not in job.vendor.peers or not operation:
            continue
        if f"{job.vendor.source}_{operation}" in names:
            continue
        if plain and host is not None and f"fn {host.name}_{operation}" in site.code:
            continue  # PK514's
        node, attributes = next(
            g for g in group_attributes(body) if field_text(g[0], "name") == method
        )
        guard = _find_guard(site, field_text(site.node, "type"))
        here = (
            f"{guard.symbol}, which alone asks for it, takes a way of {job.vendor.title}'s before"
            if guard is not None
            else "on ROCm it answers as on CUDA, and callers take the generic path"
        )
        start = attributes[0].start_byte if attributes else node.start_byte
        yield LeaveUnchanged(
            "trait method impl",
            f"only {peer.capitalize()} implements it; {here}",
            symbol=f"{describe_item(site.node)}::{method}",
            review=guard is None,
            claims=(Span(start, node.end_byte),),
        )


def _find_guard(site: Site, operation: str) -> Guard | None:
    """Return the guard of the one function that asks for an operation, where it has one."""
    source = site.source
    asks = re.compile(rf"(?<!struct )(?<!for )(?<!impl )\b{re.escape(operation)}\b")
    for guard in site.job.patches(Guard, source.path):
        if not guard.calls:
            continue
        for item in find_items(source, [guard.symbol]):
            inside = len(asks.findall(node_text(item.node)))
            if item.symbol == guard.symbol and inside:
                everywhere = len(asks.findall(source.text(0, len(source.data))))
                return guard if inside == everywhere else None
    return None


_PEER_OPERATION_PAGE = """\
An operation that a peer has and CUDA has not.

``Sdpa`` implements ``metal_fwd`` and no ``cuda_fwd``. There is nothing to derive a ROCm kernel
from: on ROCm, as on CUDA, the operation answers that it is not implemented, and callers take the
generic path. It is reported so that a person knows which operations ROCm will lack.

Where the profile has a guard that calls what ROCm has of its own (PK106), in the one function that
asks for the operation, ROCm never comes to it, and nobody is asked about it here as well.

Nothing is written here.
"""
PEER_OPERATION = SiteRule(
    "PK803", frozenset({"impl_item"}), check_peer_operation, "peer_operation", _PEER_OPERATION_PAGE
)
