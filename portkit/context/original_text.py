"""What a construct said before a port widened it.

A decision is about a condition as its author read it, and settles what is written by it as well: it
is looked for in both.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site

_ANY_OF_ONE: Final = re.compile(r'any\((feature = "[^"]*")\)')
_MOST: Final = 100
"""So many copies are in no condition that a person has decided; a chain of ``else if`` has any
number, each link of which is a construct that holds the rest."""


class JoinedQuery(Value, frozen=True):
    """A question that joined another."""

    span: Span  # with the operator before it
    brackets: tuple[Span, ...]  # what opens and closes around both, where something does


def find_original_texts(site: Site, holder: Node) -> tuple[str, ...]:
    """Return what a construct may have said before the written vendor's questions joined it.

    The brackets around a question and its copy may have come with the copy, or not.
    """
    job = site.job
    if job.vendor.name not in node_text(holder):
        return ()
    outermost = site
    while outermost.outer is not None:
        outermost = outermost.outer
    top = outermost.node
    copies = site.memoize("copies", top.id, make=lambda: sorted(_copies(job, top), key=_place))
    first = bisect_left(copies, holder.start_byte, key=_place)
    inside = copies[first : bisect_left(copies, holder.end_byte, key=_place)]
    if len(inside) > _MOST:
        return ()
    spans = [copy.span for copy in inside]
    brackets = [span for copy in inside for span in copy.brackets]
    feature = f', feature = "{job.feature}"'
    return (
        _without(holder, spans).replace(feature, ""),
        _ANY_OF_ONE.sub(r"\1", _without(holder, [*spans, *brackets]).replace(feature, "")),
    )


def _place(copy: JoinedQuery) -> int:
    return copy.span.start


def _copies(job: PortJob, top: Node) -> Iterator[JoinedQuery]:
    pending: list[tuple[Node, Node | None]] = [(top, None)]
    while pending:
        node, around = pending.pop()
        pending += ((child, node) for child in node.named_children)
        joined = _joined(job, node)
        if joined is None:
            continue
        brackets: tuple[Span, ...] = ()
        if around is not None and around.type == "parenthesized_expression":
            brackets = (
                Span(around.start_byte, node.start_byte),
                Span(node.end_byte, around.end_byte),
            )
        yield JoinedQuery(Span(joined.end_byte, node.end_byte), brackets)


def _joined(job: PortJob, node: Node) -> Node | None:
    """Return the left side of an ``||`` whose right side a port has set there."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or field_text(node, "operator") != "||":
        return None
    copy = node_text(right)
    if job.vendor.name not in copy:
        return None
    last = left.child_by_field_name("right") if left.type == node.type else left
    asked = node_text(last)
    return (
        left
        if normalize_rust(copy)
        in map(normalize_rust, (job.rename(asked), translate_peer_query(job, asked)))
        else None
    )


def translate_peer_query(job: PortJob, asked: str) -> str:
    """Return a question about a peer as one about the written vendor, or an empty string."""
    for peer in job.vendor.peers:
        before, name, after = asked.rpartition(f"is_{peer}")
        if name:
            return f"{before}{job.rename(f'is_{job.vendor.source}')}{after}"
    return ""


def _without(holder: Node, spans: Sequence[Span]) -> str:
    """Return the text of a construct without parts of it."""
    kept, at, data = [], 0, holder.text or b""
    for start, end in sorted(spans):
        kept.append(data[at : max(at, start - holder.start_byte)])
        at = max(at, end - holder.start_byte)
    return b"".join([*kept, data[at:]]).decode()
