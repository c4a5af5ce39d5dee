"""An operation that a peer has and CUDA has not.

``Sdpa`` implements ``metal_fwd`` and no ``cuda_fwd``. There is nothing to derive a ROCm kernel
from: on ROCm, as on CUDA, the operation answers that it is not implemented, and callers take the
generic path. It is reported so that a person knows which operations ROCm will lack.

Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.items import item_symbol
from portkit.lang.source import field_text, grouped
from portkit.lang.span import Span
from portkit.rules import SiteRule
from portkit.site.intent import Intent, Keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find an implementation with a peer's method and none of the source vendor."""
    job = site.job
    body = site.node.child_by_field_name("body")
    if site.scope.vendor or body is None or not field_text(site.node, "trait"):
        return
    names = {field_text(c, "name") for c in body.named_children if c.type == "function_item"}
    for peer in job.vendor.peers:
        method = f"{peer}_fwd"
        if method not in names or f"{job.vendor.source}_fwd" in names:
            continue
        node, attributes = next(g for g in grouped(body) if field_text(g[0], "name") == method)
        start = attributes[0].start_byte if attributes else node.start_byte
        yield Keep(
            "trait method impl",
            f"only {peer.capitalize()} implements it; on ROCm it answers as on CUDA, and callers "
            "take the generic path",
            symbol=f"{item_symbol(site.node)}::{method}",
            review=True,
            claims=(Span(start, node.end_byte),),
        )


RULE = SiteRule("PK803", frozenset({"impl_item"}), check)
