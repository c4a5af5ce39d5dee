"""Questions of code about the device: which are asked, and what is decided by them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.profiles.entries import Condition
from portkit.syntax import patterns
from portkit.syntax.features import cargo_feature_variable
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import field_text, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value

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
    copies = site.memoize("copies", top.id, make=lambda: sorted(_find_copies(job, top), key=_place))
    first = bisect_left(copies, holder.start_byte, key=_place)
    inside = copies[first : bisect_left(copies, holder.end_byte, key=_place)]
    if len(inside) > _MOST:
        return ()
    spans = [copy.span for copy in inside]
    brackets = [span for copy in inside for span in copy.brackets]
    feature = f', feature = "{job.feature}"'
    return (
        _remove_parts(holder, spans).replace(feature, ""),
        _ANY_OF_ONE.sub(r"\1", _remove_parts(holder, [*spans, *brackets]).replace(feature, "")),
    )


def _place(copy: JoinedQuery) -> int:
    return copy.span.start


def _find_copies(job: PortJob, top: Node) -> Iterator[JoinedQuery]:
    pending: list[tuple[Node, Node | None]] = [(top, None)]
    while pending:
        node, around = pending.pop()
        pending += ((child, node) for child in node.named_children)
        joined = _find_joined(job, node)
        if joined is None:
            continue
        brackets: tuple[Span, ...] = ()
        if around is not None and around.type == "parenthesized_expression":
            brackets = (
                Span(around.start_byte, node.start_byte),
                Span(node.end_byte, around.end_byte),
            )
        yield JoinedQuery(Span(joined.end_byte, node.end_byte), brackets)


def _find_joined(job: PortJob, node: Node) -> Node | None:
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


def _remove_parts(holder: Node, spans: Sequence[Span]) -> str:
    """Return the text of a construct without parts of it."""
    kept, at, data = [], 0, holder.text or b""
    for start, end in sorted(spans):
        kept.append(data[at : max(at, start - holder.start_byte)])
        at = max(at, end - holder.start_byte)
    return b"".join([*kept, data[at:]]).decode()


_OF_PEERS: Final = ("peer", "join")
"""The verdicts on conditions that ask for a peer."""


def is_cuda_query(job: PortJob, node: Node) -> bool:
    """Whether a node asks for the source vendor: a call such as ``is_cuda()``, or ``cfg!``."""
    if node.type == "macro_invocation":
        text = node_text(node)
        return text.startswith("cfg!") and job.has_cuda_cfg(text)
    source = job.vendor.source
    return read_callee_name(node) in (f"is_{source}", f"{source}_is_available")


def is_query_path(job: PortJob, path: Node) -> bool:
    """Whether a path names the method that asks a device: ``Device::is_cuda``."""
    return field_text(path, "name") == f"is_{job.vendor.source}"


def is_build_script_query(job: PortJob, node: Node) -> bool:
    """Whether a call asks, in a build script, whether the source vendor's feature is on.

    Cargo sets the variable where the feature is on (the Cargo book, "Environment Variables").
    """
    variable = re.escape(name_feature_variable(job))
    asked = rf'(?:(?:std::)?env::)?var(?:_os)?\("{variable}"\)\.(?:is_ok|is_some)\(\)'
    return re.fullmatch(asked, re.sub(r"\s+", "", node_text(node))) is not None


def read_callee_name(call: Node) -> str:
    """Return the bare name of what a call calls."""
    return field_text(call, "function").rsplit(".", 1)[-1].rsplit("::", 1)[-1]


def name_feature_variable(job: PortJob) -> str:
    """Return the variable by which a build script asks for the source vendor's feature."""
    return cargo_feature_variable(job.source_feature)


def list_cuda_queries(job: PortJob, condition: Node) -> list[str]:
    """Return what a condition asks that is about the source vendor: its device, name, feature."""
    found: list[str] = []
    pending = [condition]
    while pending:
        node = pending.pop()
        if _asks(job, node):
            found.append(node_text(node))
        pending += node.named_children
    return found


def _asks(job: PortJob, node: Node) -> bool:
    if node.type == "string_literal":
        return node_text(node) == f'"{name_feature_variable(job)}"'
    if node.type == "binary_expression":
        sides = [node_text(side) for side in node.named_children]
        return field_text(node, "operator") == "==" and f'"{job.vendor.source}"' in sides
    if node.type == "macro_invocation" and matches_cuda_only(job, node):
        return True
    return node.type in ("call_expression", "macro_invocation") and is_cuda_query(job, node)


def matches_cuda_only(job: PortJob, macro: Node) -> bool:
    """Whether a ``matches!`` asks for a value of the source vendor, and for no other."""
    if field_text(macro, "macro").rsplit("::", 1)[-1] != "matches":
        return False
    _, members, _ = patterns.parse_matches_macro(macro)
    text, start = macro.text or b"", macro.start_byte
    asked = [text[m.start - start : m.end - start].decode() for m in members]
    return bool(asked) and all(map(job.renames_or_says_cuda, asked))


def find_deciding_node(site: Site) -> Node:
    """Return the ``if`` whose condition a place is part of, else the statement around it."""
    current = site
    while current.outer is not None:
        node, parent = current.node, current.outer.node
        if parent.type == "if_expression":
            condition = parent.child_by_field_name("condition")
            if condition is not None and condition.id == node.id:
                return parent
        if parent.type in ("block", "let_declaration", "source_file", "field_initializer"):
            return parent if parent.type == "let_declaration" else node
        current = current.outer
    return current.node


class ConditionDecision(Value, frozen=True):
    """What is decided about a condition."""

    by: Condition | None  # the first decision that applies; none where none does
    entry: str  # what findings name it by; empty where there is none
    shadowed: tuple[str, ...]  # the same of those that apply as well, and come after it


def find_decision(site: Site, holder: Node, *, of_peer: bool = False) -> ConditionDecision:
    """Return what ``portkit.toml`` and the profile decide about a condition."""
    path, codebase = site.source.path, site.job.codebase

    def find() -> ConditionDecision:
        conditions = codebase.conditions
        wanted = [c for c in conditions if (c.verdict in _OF_PEERS) is of_peer and c.is_in(path)]
        texts = (node_text(holder), *find_original_texts(site, holder)) if wanted else ()
        found = [c for c in wanted if any(map(c.fits, texts))]
        first, *rest = map(codebase.key, found) if found else [""]
        return ConditionDecision(found[0] if found else None, first, tuple(rest))

    return site.memoize("decision", holder.id, of_peer, make=find)


def is_cuda_branch(site: Site, branch: Node) -> bool:
    """Whether what an ``if`` does is specific to the source vendor."""
    body = branch.child_by_field_name("consequence")
    if body is None:
        return False
    return site.memoize(
        "of source", body.id, make=lambda: site.job.rename_changes_code(node_text(body))
    )


def list_if_chain(site: Site) -> tuple[Node, ...]:
    """Return every ``if`` of the ``else if`` chain that a place is part of."""
    first = site
    while first.outer is not None and first.outer.kind == "else_clause":
        assert first.outer.outer is not None  # the `if` that the clause belongs to
        first = first.outer.outer
    return site.memoize("chain", first.node.id, make=lambda: tuple(_find_chain(first.node)))


def list_chain_links(holder: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield each ``if`` of a chain with its condition and its block, or what is no ``if`` whole."""
    current: Node | None = holder
    while current is not None and current.type == "if_expression":
        fields = (current.child_by_field_name(name) for name in ("condition", "consequence"))
        yield current, tuple(part for part in fields if part is not None)
        clause = current.child_by_field_name("alternative")
        current = clause.named_children[-1] if clause is not None else None
    if current is not None:
        yield current, (current,)


def _find_chain(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        clause = current.child_by_field_name("alternative")
        pending += (c for c in (clause.named_children if clause else ()) if c.type == current.type)
