"""A call of a macro that takes one argument per backend.

``test_device!(add, add_cpu, add_gpu, add_metal)`` makes a test for each backend. Where the macro
makes ROCm's itself (PK601), the call stays as it is. Elsewhere it gains the name of ROCm's, in the
position that the macro's definition gives it. The argument is found by that position and not by its
text: many calls name CUDA's test ``_gpu``.

Not handled: a call among the arguments of another macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.source import COMMENTS, field_text, node_text
from portkit.lang.span import Span
from portkit.rules import SiteRule
from portkit.site.intent import Ask, Enlist, Intent, Keep, Member, Stands
from portkit.site.macros import makes_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Job, Site


def check(site: Site) -> Iterator[Intent]:
    """Find a call of a macro whose definition names the source vendor."""
    job = site.job
    macro = job.learnt.macros.get(field_text(site.node, "macro").rsplit("::", 1)[-1])
    if macro is None:
        return
    construct = f"call of {macro.name}!"
    arguments = _arguments(site.node)
    symbol = node_text(arguments[0][0]) if arguments else macro.name
    if len(arguments) < macro.arity:
        message = f"it takes a form of {macro.name}! that has no argument for each backend"
        yield Keep(construct, message, symbol=symbol)
        return
    if makes_test(job, macro):
        message = f"{macro.name}! makes {job.vendor.title}'s test itself"
        yield Keep(construct, message, symbol=symbol)
        return
    group = arguments[macro.position]
    after = Span(group[0].start_byte, group[-1].end_byte)
    name = _renamed(job, site.source.slice(after))
    message = f"name the test of {job.vendor.title}: {name}"
    if len(arguments) > macro.arity:
        yield Stands(construct, message, symbol=symbol)
    elif not macro.behind:
        yield Ask(construct, f"{message}, where the macro's definition has it", symbol=symbol)
    else:
        yield Enlist(construct, message, symbol=symbol, members=(Member(after, name),))


def _renamed(job: Job, argument: str) -> str:
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
