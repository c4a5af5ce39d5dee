"""Statements at the beginning of functions that are not ported themselves.

A function that a ROCm tensor can reach and that has no ROCm path fails deep inside. The profile may
hold a guard for it: a statement that takes the path that works on every device, or that says at
once what is missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.port.template_values import render_template
from portkit.profiles.entries import Guard
from portkit.syntax.items import find_items
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import node_text
from portkit.syntax.span import Span
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from tree_sitter import Node

    from portkit.context.port_job import PortJob
    from portkit.syntax.source_file import SourceFile

CODE = "PK106"


def find_guarded_functions(job: PortJob, source: SourceFile) -> Iterator[Finding]:
    """Yield a finding for each function of a file that the profile has a guard for."""
    for guard in job.patches(Guard, source.path):
        name = guard.symbol.rsplit("::", 1)[-1].encode()
        if b"fn " + name + b"(" in source.data:
            yield from _guarded(job, source, guard)


def _guarded(job: PortJob, source: SourceFile, guard: Guard) -> Iterator[Finding]:
    for item in find_items(source, [guard.symbol]):
        node, body = item.node, item.node.child_by_field_name("body")
        if item.symbol != guard.symbol or node.type != "function_item" or body is None:
            continue
        outer = source.indent(node.start_byte)
        indent = outer + "    "
        text = _with_what_it_has(
            render_template(job, guard.template).strip(), guard, _parameters(node)
        )
        calls = render_template(job, guard.calls).strip() if guard.calls else ""
        at = body.start_byte + 1
        standing = normalize_rust(text) in normalize_rust(node_text(body))
        called = (
            (Edit(node.end_byte, node.end_byte, f"\n\n{_indented(calls, outer)}"),)
            if calls and normalize_rust(calls) not in normalize_rust(source.data.decode())
            else ()
        )
        yield Finding(
            code=CODE,
            path=source.path,
            span=Span(node.start_byte, node.end_byte),
            construct="cfg block",
            symbol=guard.symbol,
            applicability=Applicability.REVIEW,
            status=Status.PORTED if standing and not called else Status.TODO,
            message=guard.reason,
            entry=job.codebase.key(guard),
            edits=(*(() if standing else (Edit(at, at, "\n" + _indented(text, indent)),)), *called),
        )


def _indented(text: str, indent: str) -> str:
    """Return a text whose lines begin with an indentation, but for those that are empty."""
    return "\n".join(line and indent + line for line in text.split("\n"))


def _with_what_it_has(text: str, guard: Guard, parameters: AbstractSet[str]) -> str:
    """Return the statement of a guard with what stands for the parameters that there are not."""
    lacking = [name for name in guard.lacking if name not in parameters]
    if not lacking:
        return text
    names = "|".join(map(re.escape, lacking))
    return re.sub(rf"\b(?:{names})\b", lambda name: guard.lacking[name[0]], text)


def _parameters(function: Node) -> frozenset[str]:
    """Return the names of a function's parameters: what a guard may read differs by version."""
    listed = function.child_by_field_name("parameters")
    patterns = (c.child_by_field_name("pattern") for c in (listed.named_children if listed else ()))
    return frozenset(node_text(pattern) for pattern in patterns if pattern is not None)
