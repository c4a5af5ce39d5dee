"""A statement that calls something of CUDA's, outside any condition.

``candle::cuda::set_gemm_reduced_precision_f16(true);``, the registration of a Python function for
CUDA, or a macro that makes CUDA's methods, ``forward!(cuda_fwd, CudaStorage);``. Without a call of
its own, ROCm would run with other settings or lack the methods. It follows CUDA's.

Not handled: what binds a name or assigns one, which is listed as unaccounted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit import emit
from portkit.analog import copy_place
from portkit.names import code_only
from portkit.rules import Rule
from portkit.source import field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from portkit.finding import Finding
    from portkit.port import Place

CODE = "PK510"

_ITEM_LISTS = frozenset({"declaration_list", "source_file"})
_TEXT_MACROS = frozenset(
    {"anyhow", "assert", "assert_eq", "bail", "cfg", "ensure", "eprintln", "format", "matches"}
    | {"panic", "print", "println", "todo", "unimplemented", "unreachable", "write", "writeln"}
)
CALLS = frozenset({"call_expression", "try_expression", "await_expression"})
"""What a statement that calls something is; an await or a `?` may stand behind the call."""


def check(place: Place) -> Iterator[Finding]:
    """Find a statement that is a call of something of the source vendor's."""
    port = place.port
    if place.scope.vendor or place.conditions or not _is_call(place):
        return
    copy = copy_place(place)
    counterpart = emit.equal_sibling(place, copy)
    if counterpart is None and place.kind == "expression_statement":
        counterpart = emit.sibling_by_hand(place, callee)
    status, claims = emit.ported(place, counterpart)
    if port.names_gated(copy):
        copy = emit.gated(place, copy)
    yield emit.finding(
        place,
        CODE,
        "statement",
        f"the same call for {port.vendor.title}",
        status=status,
        edits=(emit.insertion(place, copy),),
        claims=claims,
    )


def callee(node: Node) -> str:
    """Return the path that a statement calls, or its whole text where it is no plain call."""
    inner = node.named_children[0] if node.named_children else node
    while inner.type in ("try_expression", "await_expression"):
        inner = inner.named_children[0]
    function = inner.child_by_field_name("function")
    return node_text(node if function is None else function)


def _is_call(place: Place) -> bool:
    if place.kind == "macro_invocation":
        parent = place.node.parent
        return parent is not None and parent.type in _ITEM_LISTS and _makes(place, place.node)
    inner = place.node.named_children[0] if place.node.named_children else None
    if inner is not None and inner.type == "macro_invocation":
        return _makes(place, inner)
    return inner is not None and inner.type in CALLS and _calls(place, inner)


def _makes(place: Place, node: Node) -> bool:
    """Whether a macro is given names of the source vendor, and nothing that it would run."""
    name = field_text(node, "macro").rsplit("::", 1)[-1]
    text = code_only(node_text(node))
    return (
        name not in _TEXT_MACROS
        and name not in place.port.macros
        and "{" not in text
        and place.port.renames_code(text)
    )


def _calls(place: Place, node: Node) -> bool:
    """Whether a call goes to a path of the source vendor, or registers one through a macro.

    A method of a value is not such a call: which backend the value is on is not known here.
    """
    while node.type in ("try_expression", "await_expression"):
        node = node.named_children[0]
    function = node.child_by_field_name("function")
    if function is None:
        return False
    if function.type == "scoped_identifier":
        return place.port.renames_code(node_text(function))
    arguments = code_only(field_text(node, "arguments"))
    return bool(re.search(r"\w+!\(\w*" + place.port.vendor.source, arguments))


RULE = Rule(CODE, "statement", frozenset({"expression_statement", "macro_invocation"}), check)
