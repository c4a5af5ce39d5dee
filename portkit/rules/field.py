"""A field of a struct that is named after CUDA or has one of its types.

What a struct keeps for CUDA, ROCm needs to keep as well: the struct gains a field of the same shape
for ROCm. Each place that builds the struct has an initializer of the same name, which is found and
copied in the same way.

Not handled: the short form ``Devices { cuda }``, which is listed as unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site
    from portkit.tree.finding import Finding

CODE = "PK506"


def check(site: Site) -> Iterator[Finding]:
    """Find a field, or its initializer, that is named after the source vendor."""
    job = site.job
    field = field_text(site.node, "name") or field_text(site.node, "field")
    if site.scope.vendor or not job.names_source(field) or site.conditions:
        return
    if job.names_unported(field):
        return
    copy = copy_site(site)
    renamed = job.rename(field)
    counterpart = next(
        (
            Span(node.start_byte, node.end_byte)
            for node, _ in emit.peers_of(site)
            if renamed
            in (
                node_text(node.child_by_field_name("name")),
                node_text(node.child_by_field_name("field")),
            )
        ),
        None,
    )
    status, claims = emit.ported(site, counterpart)
    yield emit.finding(
        site,
        CODE,
        "field",
        f"the field gains {renamed} beside it",
        symbol=site.symbol(field),
        status=status,
        edits=(emit.insertion(site, emit.gated(site, copy)),),
        claims=claims,
    )


RULE = Rule(CODE, "field", frozenset({"field_declaration", "field_initializer"}), check)
