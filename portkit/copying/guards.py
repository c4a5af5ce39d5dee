"""Statements at the beginning of functions that are not ported themselves.

A function that a ROCm tensor can reach and that has no ROCm path fails deep inside. The profile may
hold a guard for it: a statement that takes the path that works on every device, or that says at
once what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.items import items
from portkit.lang.renaming import normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.profile.entries import Guard
from portkit.templates import render
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.lang.source import Source
    from portkit.site.context import Job

CODE = "PK106"


def guarded(job: Job, source: Source) -> Iterator[Finding]:
    """Yield a finding for each function of a file that the profile has a guard for."""
    for guard in job.patches(Guard, source.path):
        name = guard.symbol.rsplit("::", 1)[-1].encode()
        if b"fn " + name + b"(" in source.data:
            yield from _guarded(job, source, guard)


def _guarded(job: Job, source: Source, guard: Guard) -> Iterator[Finding]:
    for item in items(source, [guard.symbol]):
        node, body = item.node, item.node.child_by_field_name("body")
        if item.symbol != guard.symbol or node.type != "function_item" or body is None:
            continue
        indent = source.indent(node.start_byte) + "    "
        text = render(guard.template, job.codebase.directory, parameters=_parameters(node)).strip()
        at = body.start_byte + 1
        standing = normal(text) in normal(node_text(body))
        yield Finding(
            code=CODE,
            path=source.path,
            span=Span(node.start_byte, node.end_byte),
            construct="cfg block",
            symbol=guard.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED if standing else Status.TODO,
            message=guard.reason,
            entry=job.codebase.key(guard),
            edits=()
            if standing
            else (Edit(at, at, "\n" + indent + text.replace("\n", f"\n{indent}")),),
        )


def _parameters(function: Node) -> frozenset[str]:
    """Return the names of a function's parameters: what a guard may read differs by version."""
    listed = function.child_by_field_name("parameters")
    patterns = (c.child_by_field_name("pattern") for c in (listed.named_children if listed else ()))
    return frozenset(node_text(pattern) for pattern in patterns if pattern is not None)
