"""A call of a macro that takes one argument per backend.

``test_device!(add, add_cpu, add_gpu, add_metal)`` makes a test for each backend. The call gains the
name of ROCm's, in the position that the macro's definition gives it. The argument is found by that
position and not by its text: many calls name CUDA's test ``_gpu``.

Not handled: a call among the arguments of another macro.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.lang.source import COMMENTS, field_text, node_text
from portkit.rules import Rule
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site

CODE = "PK602"


def check(site: Site) -> Iterator[Finding]:
    """Find a call of a macro whose definition names the source vendor."""
    job = site.job
    macro = job.macros.get(field_text(site.node, "macro").rsplit("::", 1)[-1])
    if macro is None:
        return
    arguments = _arguments(site.node)
    symbol = node_text(arguments[0][0]) if arguments else macro.name
    if len(arguments) < macro.arity:
        yield emit.finding(
            site,
            CODE,
            f"call of {macro.name}!",
            f"it takes a form of {macro.name}! that has no argument for each backend",
            symbol=symbol,
            applicability=Applicability.KEEP,
        )
        return
    group = arguments[macro.position]
    start, end = group[0].start_byte, group[-1].end_byte
    old = site.source.text(start, end)
    new = job.rename(old)
    if new == old:
        new = old.replace("gpu", job.vendor.name)
    if new == old:
        new = f"{old}_{job.vendor.name}"
    edit = Edit(end, end, f", {new}")
    if site.source.data.rfind(b"\n", site.node.start_byte, start) > 0:
        edit = _on_a_line_of_its_own(site, end, new)
    yield emit.finding(
        site,
        CODE,
        f"call of {macro.name}!",
        f"name the test of {job.vendor.title}: {new}",
        symbol=symbol,
        status=Status.PORTED if len(arguments) > macro.arity else Status.TODO,
        edits=(edit,),
    )


def _on_a_line_of_its_own(site: Site, end: int, argument: str) -> Edit:
    """Return the edit that sets an argument below the one that ends at ``end``."""
    indent = site.source.indent(end)
    comma = re.compile(rb"\s*,").match(site.source.data, end)
    if comma is None:
        return Edit(end, end, f",\n{indent}{argument}")
    end = site.source.line_tail(comma.end())
    return Edit(end, end, f"\n{indent}{argument},")


def _arguments(node: Node) -> list[list[Node]]:
    """Return the tokens of each argument of a macro, without comments."""
    tree = next((c for c in node.named_children if c.type == "token_tree"), None)
    groups: list[list[Node]] = [[]]
    for child in tree.children[1:-1] if tree is not None else ():
        if child.type == ",":
            groups.append([])
        elif child.type not in COMMENTS:
            groups[-1].append(child)
    return [g for g in groups if g]


RULE = Rule(CODE, "device_macro_call", frozenset({"macro_invocation"}), check)
