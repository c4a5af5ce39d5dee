"""What only tells people about a value, and what functions do no more with one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.context.device_queries import read_callee_name
from portkit.syntax.items import find_items
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.source_file import field_text, find_descendants, node_text

if TYPE_CHECKING:
    from tree_sitter import Node

    from portkit.context.port_job import Site

_GIVEN: Final = frozenset({"arguments", "token_tree"})
_FUNCTIONS: Final = frozenset({"context", "expect", "expect_err"})
"""Methods that do the same as macros for people."""


def is_display_call(site: Site, name: str) -> bool:
    """Whether a macro or a function tells people what it is given, and does nothing else with it.

    To the standard output of a build script cargo listens (the Cargo book, "Build Scripts").
    """
    use = find_use(name)
    if use is MacroUse.PRINT:
        return not site.job.workspace.is_build_script(site.source.path)
    return name in _FUNCTIONS or use is MacroUse.REPORT


def is_argument_only_displayed(site: Site, name: str) -> bool:
    """Whether a function of this file does nothing with an argument but tell people of it."""
    holder = site.outer
    if holder is None or holder.kind != "arguments" or holder.outer is None:
        return False
    function = next((i.node for i in find_items(site.source, [name]) if i.symbol == name), None)
    if function is None or field_text(holder.outer.node, "function") != name:
        return False  # the method of a value is none of these
    body, parameter = function.child_by_field_name("body"), _parameter(site, holder.node, function)
    if body is None or not parameter.isidentifier():
        return False
    macros = find_descendants(body, "macro_invocation")
    told = [m for m in macros if is_display_call(site, field_text(m, "macro").rsplit("::", 1)[-1])]
    uses = re.finditer(rb"\b%s\b" % re.escape(parameter.encode()), site.source.data)
    within = [use.start() for use in uses if body.start_byte <= use.start() < body.end_byte]
    return bool(within) and all(any(_holds(each, at) for each in told) for at in within)


def find_display_callee(site: Site) -> str:
    """Return the name of the macro or the function that a string is given to, or an empty string.

    What embeds a file is told through the macros that make the path of it.
    """
    outer = site.outer
    while outer is not None and outer.outer is not None and outer.kind in _GIVEN:
        name = _before(outer.node, outer.outer.node)
        if name != "concat":
            return name
        outer = outer.outer
    return ""


def _before(arguments: Node, holder: Node) -> str:
    """Return the name before arguments; the tokens of a macro's are no calls yet."""
    if holder.type == "macro_invocation":
        return field_text(holder, "macro").rsplit("::", 1)[-1]
    if holder.type == "call_expression":
        return read_callee_name(holder)
    before = arguments.prev_sibling
    if before is not None and before.type == "!":
        before = before.prev_sibling
    return node_text(before)


def _parameter(site: Site, given: Node, function: Node) -> str:
    """Return the name under which a function takes an argument, if it takes it by one."""
    taken = function.child_by_field_name("parameters")
    pairs = zip(given.named_children, taken.named_children if taken else (), strict=False)
    return next((field_text(p, "pattern") for each, p in pairs if each.id == site.node.id), "")


def _holds(node: Node, at: int) -> bool:
    return node.start_byte <= at < node.end_byte
