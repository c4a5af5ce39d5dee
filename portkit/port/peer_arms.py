"""The arms by which code that is specific to the source vendor turns other backends away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port.error_arms import strip_bindings
from portkit.port.match_facts import is_catch_all, is_guarded, list_members
from portkit.syntax import patterns
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import contains_place, field_text, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value


def exclude_peer_arms(site: Site, claims: tuple[Span, ...]) -> tuple[Span, ...]:
    """Leave the peers' arms inside a copied place to the rule that writes them (PK303).

    That is where the place is the source vendor's own: under its feature, or a function of its.
    """
    job = site.job
    function = site.kind in ("function_item", "function_signature_item")
    own = site.is_cuda_only or (function and job.mentions_cuda(site.name))
    if not own or site.kind == "match_arm":
        return claims
    return tuple(rest for claim in claims for rest in _subtract_spans(claim, _find_peer_arms(site)))


def _find_peer_arms(site: Site) -> list[Span]:
    """Return the spans of the peers' arms inside an item that is specific to the source vendor."""
    found: list[Span] = []
    job = site.job
    places = site.memoize("turned away", make=lambda: find_rejected_backends(job, site.source.data))
    known = list_default_answers(site)
    pending = [site.node]
    while pending:
        node = pending.pop()
        if not contains_place(places, node):
            continue
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None and job.mentions_peer(node_text(pattern)):
            found.append(Span(node.start_byte, node.end_byte))
        elif pattern is not None and find_backend_answer(job, node, known) is not None:
            # The rule looks at what has something left to say about it.
            found.append(Span(pattern.start_byte, pattern.end_byte))
            pending += (c for c in node.named_children if c.id != pattern.id)
        else:
            pending += node.named_children
    return found


_NO_ANSWER: Final = 'panic!("a value of another backend")'
"""Where each arm is about its own value; it says the same in a copy."""


class DefaultAnswer(Value, frozen=True):
    """What a ``match`` that names no peer answers for a backend that none of its arms is about.

    Attributes:
        value: the answer.
        certain: whether all arms but the source's have this answer.
        mentions_rocm: whether the ``match`` has an arm on the written vendor already.
    """

    value: str
    certain: bool
    mentions_rocm: bool


class BackendAnswer(Value, frozen=True):
    """What one more backend is answered beside an arm on the source vendor's own variant."""

    pattern: str  # what the arm asks for, without names
    rest: DefaultAnswer  # what the ``match`` says


DefaultAnswers = dict[int, DefaultAnswer | None]
"""What is known of each ``match``, which each of its arms asks for: by its block."""


def find_backend_answer(job: PortJob, arm: Node, known: DefaultAnswers) -> BackendAnswer | None:
    """Return how one more backend is answered beside an arm on the source vendor's own variant.

    None where the ``match`` needs no arm for it: it has one for whatever comes, or one for a peer,
    which says how (PK303).
    """
    members, block = list_members(arm), arm.parent
    if block is None or len(members) != 1 or not _is_variant(job, members[0]) or is_guarded(arm):
        return None
    if block.id not in known:
        known[block.id] = _read_default_answer(job, block)
    rest = known[block.id]
    return None if rest is None else BackendAnswer(strip_bindings(members[0]), rest)


def list_default_answers(site: Site) -> DefaultAnswers:
    """Return what is known of the ``match`` expressions of a place's file."""
    return site.memoize("rests", make=DefaultAnswers)


def _read_default_answer(job: PortJob, block: Node) -> DefaultAnswer | None:
    arms = [node for node in block.named_children if node.type == "match_arm"]
    heads = [(node, node_text(node.child_by_field_name("pattern"))) for node in arms]
    if any(map(is_catch_all, arms)) or any(job.mentions_peer(head) for _, head in heads):
        return None
    others = [
        field_text(node, "value")
        for node, head in heads
        if not (job.mentions_cuda(head) or job.mentions_rocm(head) or is_guarded(node))
        and not any(
            True for _ in patterns.find_bindings(node.child_by_field_name("pattern") or node)
        )
    ]
    return DefaultAnswer(
        others[-1] if others else _NO_ANSWER,
        certain=len({normalize_rust(each) for each in others}) == 1,
        mentions_rocm=any(job.mentions_rocm(head) for _, head in heads),
    )


def find_rejected_backends(job: PortJob, data: bytes) -> list[int]:
    """Return where a file may turn another backend away: at a peer, or at the source's variant."""
    own = re.finditer(rb"::%s\b" % job.vendor.source.capitalize().encode(), data)
    return sorted({*job.find_peer_mentions(data), *(match.start() for match in own)})


def _is_variant(job: PortJob, pattern: Node) -> bool:
    """Whether a pattern is the source vendor's variant of an enum that others have one of, too."""
    path = node_text(pattern.child_by_field_name("type") or pattern)
    owner, separator, name = path.rpartition("::")
    return bool(separator) and name == job.vendor.source.capitalize() and job.rename(owner) == owner


def _subtract_spans(span: Span, holes: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of a span without the holes in it."""
    at = span.start
    for hole in sorted(holes):
        if span.encloses(hole) and hole.start >= at:
            if hole.start > at:
                yield Span(at, hole.start)
            at = hole.end
    if at < span.end:
        yield Span(at, span.end)
