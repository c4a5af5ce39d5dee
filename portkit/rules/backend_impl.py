"""An implementation for one of CUDA's types, or of one of its traits.

ROCm's type needs the same methods and conversions. The whole ``impl`` is copied under the name
table: its type or its trait is CUDA's alone, so the copy cannot clash with it.

Not handled: an implementation whose head says nothing of CUDA. It is shared, and what it holds is
looked at place by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.renaming import normal
from portkit.lang.source import field_text
from portkit.lang.span import Span
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site
    from portkit.tree.finding import Finding

CODE = "PK508"


def check(site: Site) -> Iterator[Finding]:
    """Find an implementation whose head names the source vendor."""
    job = site.job
    if site.scope.vendor or site.conditions:
        return
    head = _head(site.node)
    if not job.renames_code(head):
        return
    wanted = normal(job.rename(head))
    counterpart = next(
        (
            Span(n.start_byte, n.end_byte)
            for n, _ in emit.peers_of(site)
            if normal(_head(n)) == wanted
        ),
        None,
    )
    status, claims = emit.ported(site, counterpart)
    yield emit.finding(
        site,
        CODE,
        "impl",
        f"copy the implementation for {job.vendor.title}",
        symbol=site.symbol(head),
        status=status,
        edits=(emit.insertion(site, emit.gated(site, copy_site(site))),),
        claims=claims,
    )


def _head(node: Node) -> str:
    trait, type_name = field_text(node, "trait"), field_text(node, "type")
    return f"{trait} for {type_name}" if trait else type_name


RULE = Rule(CODE, "backend_impl", frozenset({"impl_item"}), check)
