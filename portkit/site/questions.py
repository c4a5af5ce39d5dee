"""Questions of code about the device: which are asked, and what is decided by them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.lang import patterns
from portkit.lang.features import variable
from portkit.lang.source import field_text, node_text
from portkit.lang.value import Value
from portkit.site.before_port import before_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.profile.entries import Condition
    from portkit.site.context import Job, Site

_OF_PEERS: Final = ("peer", "join")
"""The verdicts on conditions that ask for a peer."""


def is_question(job: Job, node: Node) -> bool:
    """Whether a node asks for the source vendor: a call such as ``is_cuda()``, or ``cfg!``."""
    if node.type == "macro_invocation":
        text = node_text(node)
        return text.startswith("cfg!") and job.asks_for_source(text)
    source = job.vendor.source
    return called(node) in (f"is_{source}", f"{source}_is_available")


def is_asking(job: Job, path: Node) -> bool:
    """Whether a path names the method that asks a device: ``Device::is_cuda``."""
    return field_text(path, "name") == f"is_{job.vendor.source}"


def is_of_build(job: Job, node: Node) -> bool:
    """Whether a call asks, in a build script, whether the source vendor's feature is on.

    Cargo sets the variable where the feature is on (the Cargo book, "Environment Variables").
    """
    variable = re.escape(feature_variable(job))
    asked = rf'(?:(?:std::)?env::)?var(?:_os)?\("{variable}"\)\.(?:is_ok|is_some)\(\)'
    return re.fullmatch(asked, re.sub(r"\s+", "", node_text(node))) is not None


def called(call: Node) -> str:
    """Return the bare name of what a call calls."""
    return field_text(call, "function").rsplit(".", 1)[-1].rsplit("::", 1)[-1]


def feature_variable(job: Job) -> str:
    """Return the variable by which a build script asks for the source vendor's feature."""
    return variable(job.source_feature)


def questions(job: Job, condition: Node) -> list[str]:
    """Return what a condition asks that is about the source vendor: its device, name, feature."""
    found: list[str] = []
    pending = [condition]
    while pending:
        node = pending.pop()
        if _asks(job, node):
            found.append(node_text(node))
        pending += node.named_children
    return found


def _asks(job: Job, node: Node) -> bool:
    if node.type == "string_literal":
        return node_text(node) == f'"{feature_variable(job)}"'
    if node.type == "binary_expression":
        sides = [node_text(side) for side in node.named_children]
        return field_text(node, "operator") == "==" and f'"{job.vendor.source}"' in sides
    if node.type == "macro_invocation" and is_of_source_alone(job, node):
        return True
    return node.type in ("call_expression", "macro_invocation") and is_question(job, node)


def is_of_source_alone(job: Job, macro: Node) -> bool:
    """Whether a ``matches!`` asks for a value of the source vendor, and for no other."""
    if field_text(macro, "macro").rsplit("::", 1)[-1] != "matches":
        return False
    _, members, _ = patterns.of_matches(macro)
    text, start = macro.text or b"", macro.start_byte
    asked = [text[m.start - start : m.end - start].decode() for m in members]
    return bool(asked) and all(map(job.names_value, asked))


def decided(site: Site) -> Node:
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


class Decided(Value, frozen=True):
    """What is decided about a condition.

    Attributes:
        by: the first decision that applies; none where none does.
        entry: what findings name it by; empty where there is none.
        shadowed: the same of those that apply as well, and come after it.
    """

    by: Condition | None
    entry: str
    shadowed: tuple[str, ...]


def decision(site: Site, holder: Node, *, of_peer: bool = False) -> Decided:
    """Return what ``portkit.toml`` and the profile decide about a condition.

    Args:
        site: a place in it.
        holder: what is decided. Both sides of it count: the condition, and what follows from it.
        of_peer: whether the condition is on a peer.
    """
    path, codebase = site.source.path, site.job.codebase

    def find() -> Decided:
        conditions = codebase.conditions
        wanted = [c for c in conditions if (c.verdict in _OF_PEERS) is of_peer and c.is_in(path)]
        texts = (node_text(holder), *before_port(site, holder)) if wanted else ()
        found = [c for c in wanted if any(map(c.fits, texts))]
        first, *rest = map(codebase.key, found) if found else [""]
        return Decided(found[0] if found else None, first, tuple(rest))

    return site.once("decision", holder.id, of_peer, make=find)


def is_of_source(site: Site, branch: Node) -> bool:
    """Whether what an ``if`` does is specific to the source vendor."""
    body = branch.child_by_field_name("consequence")
    if body is None:
        return False
    return site.once("of source", body.id, make=lambda: site.job.renames_code(node_text(body)))


def chain_of(site: Site) -> tuple[Node, ...]:
    """Return every ``if`` of the ``else if`` chain that a place is part of."""
    first = site
    while first.outer is not None and first.outer.kind == "else_clause":
        assert first.outer.outer is not None  # the `if` that the clause belongs to
        first = first.outer.outer
    return site.once("chain", first.node.id, make=lambda: tuple(_chain(first.node)))


def links_of(holder: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield each ``if`` of a chain with its condition and its block, or what is no ``if`` whole."""
    current: Node | None = holder
    while current is not None and current.type == "if_expression":
        fields = (current.child_by_field_name(name) for name in ("condition", "consequence"))
        yield current, tuple(part for part in fields if part is not None)
        clause = current.child_by_field_name("alternative")
        current = clause.named_children[-1] if clause is not None else None
    if current is not None:
        yield current, (current,)


def _chain(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        clause = current.child_by_field_name("alternative")
        pending += (c for c in (clause.named_children if clause else ()) if c.type == current.type)
