"""The arms by which code that is specific to the source vendor turns its peers away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import holds, node_text
from portkit.lang.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from portkit.site.context import Site


def without_peer_arms(site: Site, claims: tuple[Span, ...]) -> tuple[Span, ...]:
    """Leave the peers' arms inside a copied place to the rule that writes them (PK303).

    That is where the place is the source vendor's own: under its feature, or a function of its.
    """
    job = site.job
    function = site.kind in ("function_item", "function_signature_item")
    own = site.is_source or (function and job.names_source(site.name))
    if not own or site.kind == "match_arm":
        return claims
    return tuple(rest for claim in claims for rest in _subtract(claim, _arms_in(site)))


def _arms_in(site: Site) -> list[Span]:
    """Return the spans of the peers' arms inside an item that is specific to the source vendor."""
    found: list[Span] = []
    places = site.once("peers", make=lambda: site.job.peers_in(site.source.data))
    pending = [site.node]
    while pending:
        node = pending.pop()
        if not holds(places, node):
            continue
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None and site.job.names_peer(node_text(pattern)):
            found.append(Span(node.start_byte, node.end_byte))
        else:
            pending += node.named_children
    return found


def _subtract(span: Span, holes: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of a span without the holes in it."""
    at = span.start
    for hole in sorted(holes):
        if span.encloses(hole) and hole.start >= at:
            if hole.start > at:
                yield Span(at, hole.start)
            at = hole.end
    if at < span.end:
        yield Span(at, span.end)
