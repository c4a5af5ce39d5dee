"""The arms by which code that is specific to the source vendor turns other backends away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.copying import left_out
from portkit.lang import patterns
from portkit.lang.renaming import normal
from portkit.lang.source import field_text, holds, node_text
from portkit.lang.span import Span
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from portkit.site.context import Job, Site


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
    job = site.job
    places = site.once("turned away", make=lambda: turning_away(job, site.source.data))
    known = rests(site)
    pending = [site.node]
    while pending:
        node = pending.pop()
        if not holds(places, node):
            continue
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None and job.names_peer(node_text(pattern)):
            found.append(Span(node.start_byte, node.end_byte))
        elif pattern is not None and answer_of(job, node, known) is not None:
            # The rule looks at what has something left to say about it.
            found.append(Span(pattern.start_byte, pattern.end_byte))
            pending += (c for c in node.named_children if c.id != pattern.id)
        else:
            pending += node.named_children
    return found


_NO_ANSWER: Final = 'panic!("a value of another backend")'
"""Where each arm is about its own value; it says the same in a copy."""


class Rest(Value, frozen=True):
    """What a ``match`` that names no peer answers for a backend that none of its arms is about.

    Attributes:
        value: the answer.
        certain: whether all arms but the source's have this answer.
        names_vendor: whether the ``match`` has an arm on the written vendor already.
    """

    value: str
    certain: bool
    names_vendor: bool


class Answer(Value, frozen=True):
    """What one more backend is answered beside an arm on the source vendor's own variant.

    Attributes:
        pattern: what the arm asks for, without names.
        rest: what the ``match`` says.
    """

    pattern: str
    rest: Rest


Rests = dict[int, Rest | None]
"""What is known of each ``match``, which each of its arms asks for: by its block."""


def answer_of(job: Job, arm: Node, known: Rests) -> Answer | None:
    """Return how one more backend is answered beside an arm on the source vendor's own variant.

    None where the ``match`` needs no arm for it: it has one for whatever comes, or one for a peer,
    which says how (PK303).

    Args:
        job: the job.
        arm: the arm.
        known: what is known of the file's ``match`` expressions; this one is added.
    """
    pattern, block = arm.child_by_field_name("pattern"), arm.parent
    members = patterns.members(pattern) if pattern is not None else []
    if block is None or len(members) != 1 or not _is_variant(job, members[0]) or _is_guarded(arm):
        return None
    if block.id not in known:
        known[block.id] = _rest_of(job, block)
    rest = known[block.id]
    return None if rest is None else Answer(left_out.bare(members[0]), rest)


def rests(site: Site) -> Rests:
    """Return what is known of the ``match`` expressions of a place's file."""
    return site.once("rests", make=Rests)


def _rest_of(job: Job, block: Node) -> Rest | None:
    arms = [node for node in block.named_children if node.type == "match_arm"]
    heads = [(node, node_text(node.child_by_field_name("pattern"))) for node in arms]
    if any(map(left_out.takes_all, arms)) or any(job.names_peer(head) for _, head in heads):
        return None
    others = [
        field_text(node, "value")
        for node, head in heads
        if not (job.names_source(head) or job.names_vendor(head) or _is_guarded(node))
        and not any(True for _ in patterns.bindings(node.child_by_field_name("pattern") or node))
    ]
    return Rest(
        others[-1] if others else _NO_ANSWER,
        certain=len({normal(each) for each in others}) == 1,
        names_vendor=any(job.names_vendor(head) for _, head in heads),
    )


def turning_away(job: Job, data: bytes) -> list[int]:
    """Return where a file may turn another backend away: at a peer, or at the source's variant."""
    own = re.finditer(rb"::%s\b" % job.vendor.source.capitalize().encode(), data)
    return sorted({*job.peers_in(data), *(match.start() for match in own)})


def _is_variant(job: Job, pattern: Node) -> bool:
    """Whether a pattern is the source vendor's variant of an enum that others have one of, too."""
    path = node_text(pattern.child_by_field_name("type") or pattern)
    owner, separator, name = path.rpartition("::")
    return bool(separator) and name == job.vendor.source.capitalize() and job.rename(owner) == owner


def _is_guarded(arm: Node) -> bool:
    pattern = arm.child_by_field_name("pattern")
    return pattern is not None and pattern.child_by_field_name("condition") is not None


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
