"""A value inside a function whose name alone is CUDA's: ``let use_nccl = ..``, ``is_cuda: bool``.

A name decides nothing. What a value is given is a place of its own, such as ``device.is_cuda()``,
and so is what is done where it holds: both are looked at for themselves.

Not handled: a name that a pattern of a ``match`` or of an ``if let`` binds, one whose ``let``
stands under a condition, and a field's, which are listed as unaccounted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tree_sitter import Node

from portkit.context.intent import Intent, LeaveUnchanged
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.source_file import field_text, group_attributes, node_text

_PATHS: Final = frozenset({"scoped_identifier", "scoped_use_list", "use_list"})
_FUNCTIONS: Final = frozenset({"closure_expression", "function_item", "function_signature_item"})


def check(site: Site) -> Iterator[Intent]:
    """Find the name of a value of a function's own that names the source vendor."""
    job, parent = site.job, site.parent
    if site.scope.vendor or parent is None or not job.mentions_cuda(site.code):
        return
    if parent.type in _PATHS or parent.child_by_field_name("function") == site.node:
        return
    if parent.type == "shorthand_field_initializer":
        return  # the name of a field as well
    plain = job.codebase.find_no_feature_entry(site.source.path) is not None
    find = partial(_find_bound_names, any_build=plain)
    names = (
        site.memoize("values", each.id, make=partial(find, each)) for each in _find_function(site)
    )
    if any(site.code in bound for bound in names):
        yield LeaveUnchanged("name of a value", "a name decides nothing: what it is given does")


def _find_function(site: Site) -> Iterator[Node]:
    outer = site.outer
    while outer is not None:
        if outer.kind in _FUNCTIONS:
            yield outer.node
        outer = outer.outer


def _find_bound_names(function: Node, *, any_build: bool) -> frozenset[str]:
    """Return the names that a function's parameters and its ``let`` bind."""
    found = set()
    parameters = function.child_by_field_name("parameters")
    for each in parameters.named_children if parameters is not None else ():
        found.add(field_text(each, "pattern") or node_text(each))
    pending = [function]
    while pending:
        node = pending.pop()
        for child, attributes in group_attributes(node):
            if child.type == "let_declaration" and (any_build or not parse_conditions(attributes)):
                found.add(field_text(child, "pattern").removeprefix("mut "))
            if child.type not in _FUNCTIONS:
                pending.append(child)
    return frozenset(found)


RULE = SiteRule("PK513", frozenset({"identifier"}), check)
