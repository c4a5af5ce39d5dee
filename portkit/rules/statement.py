"""A statement that calls something of CUDA's, outside any condition.

``toy::cuda::set_gemm_reduced_precision_f16(true);``, the registration of a Python function for
CUDA, or a macro that makes CUDA's methods, ``forward!(cuda_fwd, CudaStorage);``. Without a call of
its own, ROCm would run with other settings or lack the methods. It follows CUDA's.

Not handled: what binds a name or assigns one, which is listed as unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying.plain import is_own_module
from portkit.lang.items import CALLS
from portkit.lang.renaming import code_only
from portkit.lang.source import field_text, node_text
from portkit.rules import SiteRule
from portkit.site.intent import Copy, Intent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.site.context import Site


_ITEM_LISTS = frozenset({"declaration_list", "source_file"})
_TEXT_MACROS = frozenset(
    {"anyhow", "assert", "assert_eq", "bail", "cfg", "ensure", "eprintln", "format", "matches"}
    | {"panic", "print", "println", "todo", "unimplemented", "unreachable", "write", "writeln"}
)


def check(site: Site) -> Iterator[Intent]:
    """Find a statement that is a call of something of the source vendor's."""
    if not site.scope.vendor and not site.conditions and _is_call(site):
        yield Copy("statement", f"the same call for {site.job.vendor.title}")


def _is_call(site: Site) -> bool:
    if site.kind == "macro_invocation":
        parent = site.parent
        return parent is not None and parent.type in _ITEM_LISTS and _makes(site, site.node)
    inner = site.node.named_children[0] if site.node.named_children else None
    if inner is not None and inner.type == "macro_invocation":
        return _makes(site, inner)
    return inner is not None and inner.type in CALLS and _calls(site, inner)


def _makes(site: Site, node: Node) -> bool:
    """Whether a macro is given names of the source vendor, and nothing that it would run."""
    name = field_text(node, "macro").rsplit("::", 1)[-1]
    text = code_only(node_text(node))
    return (
        name not in _TEXT_MACROS
        and name not in site.job.learnt.macros
        and "{" not in text
        and site.job.renames_code(text)
    )


def _calls(site: Site, node: Node) -> bool:
    """Whether a call goes to a path of the source vendor, or registers one through a macro.

    A method of a value is not such a call: which backend the value is on is not known here.
    """
    while node.type in ("try_expression", "await_expression"):
        node = node.named_children[0]
    function = node.child_by_field_name("function")
    if function is None:
        return False
    if _is_own(site, function):
        return False
    if function.type == "scoped_identifier":
        return site.job.renames_code(node_text(function))
    arguments = code_only(field_text(node, "arguments"))
    return bool(re.search(r"\w+!\(\w*" + site.job.vendor.source, arguments))


def _is_own(site: Site, function: Node) -> bool:
    """Whether a path goes through a module of the tree that gets no copy."""
    path = function.child_by_field_name("path")
    name = path.child_by_field_name("name") if path is not None else None
    return name is not None and is_own_module(site.job, site.source.path, name)


RULE = SiteRule("PK510", frozenset({"expression_statement", "macro_invocation"}), check)
