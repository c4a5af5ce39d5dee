"""A statement that calls something of CUDA's, outside any condition.

``toy::cuda::set_gemm_reduced_precision_f16(true);``, the registration of a Python function for
CUDA, or a macro that makes CUDA's methods, ``forward!(cuda_fwd, CudaStorage);``. Without a call of
its own, ROCm would run with other settings or lack the methods. It follows CUDA's.

The call of a macro is copied if both calls define items and no item of both has the same name.
portkit expands calls of the tree's own `macro_rules!` to see it. A few macros of common crates,
such as `thread_local!`, are known to define items. A call whose arguments are arms of a `match`
gains an arm (PK411). Any other call is manual: a second one may run code that no device passes. A
call of a macro that only runs code, such as `skip_if_cuda!`, stays as it is: the body of the macro
is ported in its own place.

Not handled: what binds a name or assigns one, which is listed as unaccounted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.intent import CopySite, Intent, LeaveUnchanged, RequireManual
from portkit.context.macro_fragments import find_macro_name
from portkit.context.macro_items import explain_uncopied_call, find_arms, is_body_code, is_statement
from portkit.context.port_job import Site
from portkit.port.whole_files import is_own_module
from portkit.rules import SiteRule
from portkit.syntax.items import CALLS
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import field_text, node_text, span_of

_ITEM_LISTS = frozenset({"declaration_list", "source_file"})


def check(site: Site) -> Iterator[Intent]:
    """Find a statement that is a call of something of the source vendor's."""
    if site.scope.vendor or site.conditions:
        return
    call = _find_macro_call(site)
    if call is not None:
        yield from _check_macro_call(site, call)
    elif site.kind == "macro_invocation":
        yield from _check_macro_name(site, site.node)
    elif site.kind == "expression_statement" and _is_call(site):
        yield CopySite("statement", f"copy the call for {site.job.vendor.title}")


def _find_macro_call(site: Site) -> Node | None:
    """Return the macro call that a statement or an item is."""
    if site.kind == "macro_invocation":
        parent = site.parent
        return site.node if parent is not None and parent.type in _ITEM_LISTS else None
    inner = site.node.named_children[0] if site.node.named_children else None
    return inner if inner is not None and inner.type == "macro_invocation" else None


def _check_macro_call(site: Site, call: Node) -> Iterator[Intent]:
    """Find a macro call that is given names of the source vendor, and no block."""
    job, name, text = site.job, find_macro_name(call), strip_comments_and_strings(node_text(call))
    known = find_use(name) not in (None, MacroUse.ITEMS) or name in job.tree_facts.macros
    if known or not is_statement(call) or not job.rename_changes_code(text):
        return
    if reason := explain_uncopied_call(job, call):
        if any(count for _, count in find_arms(site, call)):
            return
        kept = [*_check_macro_name(site, call)]
        only_named = job.rename(text) == text.replace(name, job.rename(name))
        yield from kept if kept and only_named else [RequireManual("macro call", reason)]
        return
    yield CopySite("statement", f"copy the call for {job.vendor.title}")


def _check_macro_name(site: Site, call: Node) -> Iterator[Intent]:
    """Keep the name of a macro of the tree whose body is ported in its own place."""
    job, named = site.job, call.child_by_field_name("macro")
    name = find_macro_name(call)
    if named is not None and job.rename(name) != name and is_body_code(job, name):
        said = f"the body of {name}! is ported in its own place, so its calls stay"
        yield LeaveUnchanged("macro call", said, claims=(span_of(named),))


def _is_call(site: Site) -> bool:
    inner = site.node.named_children[0] if site.node.named_children else None
    return inner is not None and inner.type in CALLS and _calls(site, inner)


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
        return site.job.rename_changes_code(node_text(function))
    arguments = strip_comments_and_strings(field_text(node, "arguments"))
    return bool(re.search(r"\w+!\(\w*" + site.job.vendor.source, arguments))


def _is_own(site: Site, function: Node) -> bool:
    """Whether a path goes through a module of the tree that gets no copy."""
    path = function.child_by_field_name("path")
    name = path.child_by_field_name("name") if path is not None else None
    return name is not None and is_own_module(site.job, site.source.path, name)


RULE = SiteRule("PK510", frozenset({"expression_statement", "macro_invocation"}), check)
