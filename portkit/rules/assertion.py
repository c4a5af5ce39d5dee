"""An assertion that needs a value of CUDA's, such as `assert_eq!(device, Device::Cuda(0))`.

It finds `assert!`, `debug_assert!`, `ensure!` and those that compare two values. Each run on an AMD
GPU has another value there, so the assertion would fail. It is manual: you decide what holds on
ROCm. A copy of the statement would be wrong, since no device passes both.

A condition that asks for the device, `assert!(device.is_cuda())`, is widened as it is elsewhere
(PK401, PK404).

Not handled: arguments that are no expressions, which are listed as unaccounted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.device_queries import is_cuda_query, is_query_path
from portkit.context.intent import Intent, RequireManual
from portkit.context.macro_fragments import find_macro_name, parse_arguments
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.source_file import node_text, span_of

_PATHS: Final = frozenset({"scoped_identifier", "scoped_type_identifier"})


_OTHERS: Final = frozenset({"if_expression", "macro_invocation", "match_expression"})
"""Expressions that other rules port."""


def check(site: Site) -> Iterator[Intent]:
    """Find an assertion that needs a value of the source vendor."""
    name = find_macro_name(site.node)
    if site.scope.vendor or site.is_cuda_only or find_use(name) is not MacroUse.CHECK:
        return
    compared = 2 if name.endswith(("_eq", "_ne")) else 1
    for argument in parse_arguments(site.source, site.node, site.known)[:compared]:
        if value := _find_value(site, argument):
            title = site.job.vendor.title
            yield RequireManual(
                "assertion",
                f"it needs {value}, and a run on {title} has another value."
                f" Write what holds on {title} by hand.",
                claims=(span_of(argument),),
            )


def _find_value(site: Site, argument: Node) -> str:
    """Return the path of a value of the source vendor that an argument names, or nothing."""
    pending = [argument]
    while pending:
        node = pending.pop()
        if node.type in _PATHS:
            text = node_text(node)
            if site.job.rename_changes_code(text) and not is_query_path(site.job, node):
                return text
        elif node.type not in _OTHERS and not (
            node.type == "call_expression" and is_cuda_query(site.job, node)
        ):
            pending += node.named_children
    return ""


RULE = SiteRule("PK410", frozenset({"macro_invocation"}), check)
