"""A call of a macro that takes one argument per backend.

``test_device!(add, add_cpu, add_gpu, add_metal)`` makes a test for each backend. Where the macro
makes ROCm's itself (PK601), the call stays as it is. Elsewhere it gains the name of ROCm's, in the
position that the macro's definition gives it. The argument is found by that position and not by its
text: many calls name CUDA's test ``_gpu``.

Not handled: a call among the arguments of another macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.context.device_macros import generates_rocm_test
from portkit.context.intent import (
    AddToList,
    AlreadyPorted,
    Intent,
    LeaveUnchanged,
    ListMember,
    RequireManual,
)
from portkit.rules import SiteRule
from portkit.syntax.source_file import COMMENTS, field_text, node_text
from portkit.syntax.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site


def check(site: Site) -> Iterator[Intent]:
    """Find a call of a macro whose definition names the source vendor."""
    job = site.job
    macro = job.tree_facts.macros.get(field_text(site.node, "macro").rsplit("::", 1)[-1])
    if macro is None:
        return
    construct = f"call of {macro.name}!"
    arguments = _arguments(site.node)
    symbol = node_text(arguments[0][0]) if arguments else macro.name
    if len(arguments) < macro.arity:
        message = f"it takes a form of {macro.name}! that has no argument for each backend"
        yield LeaveUnchanged(construct, message, symbol=symbol)
        return
    if generates_rocm_test(job, macro):
        message = f"{macro.name}! makes {job.vendor.title}'s test itself"
        yield LeaveUnchanged(construct, message, symbol=symbol)
        return
    group = arguments[macro.position]
    after = Span(group[0].start_byte, group[-1].end_byte)
    name = _renamed(job, site.source.slice(after))
    message = f"name the test of {job.vendor.title}: {name}"
    if len(arguments) > macro.arity:
        yield AlreadyPorted(construct, message, symbol=symbol)
    elif not macro.behind:
        yield RequireManual(
            construct, f"{message}, where the macro's definition has it", symbol=symbol
        )
    else:
        yield AddToList(construct, message, symbol=symbol, members=(ListMember(after, name),))


def _renamed(job: PortJob, argument: str) -> str:
    """Return the argument for the written vendor, which never is the argument itself."""
    new = job.rename(argument)
    if new == argument:
        new = argument.replace("gpu", job.vendor.name)
    return new if new != argument else f"{argument}_{job.vendor.name}"


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


RULE = SiteRule("PK602", frozenset({"macro_invocation"}), check)
