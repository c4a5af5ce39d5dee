"""An operation that a peer has and CUDA has not.

``Sdpa`` implements ``metal_fwd`` and no ``cuda_fwd``. There is nothing to derive a ROCm kernel
from: on ROCm, as on CUDA, the operation answers that it is not implemented, and callers take the
generic path. It is reported so that a person knows which operations ROCm will lack.

Where the profile has a guard that calls what ROCm has of its own (PK106), in the one function that
asks for the operation, ROCm never comes to it, and nobody is asked about it here as well.

Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.context.port_job import Site
from portkit.profiles.entries import Guard
from portkit.rules import SiteRule
from portkit.syntax.items import describe_item, find_items
from portkit.syntax.source_file import field_text, group_attributes, node_text
from portkit.syntax.span import Span


def check(site: Site) -> Iterator[Intent]:
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
        guard = _guard(site, field_text(site.node, "type"))
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


def _guard(site: Site, operation: str) -> Guard | None:
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


RULE = SiteRule("PK803", frozenset({"impl_item"}), check)
