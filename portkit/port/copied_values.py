"""Values that a copy repeats although they may have to differ: a person reviews such a copy.

A copy is right for types and names. A number, a letter or a text that stands for one backend is
another matter: an identifier must be unique, and a warp of an AMD GPU may have 64 lanes. Each kind
of value is one function from what is copied to a sentence, which names the value and says why.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.port import enum_variants, unique_names
from portkit.syntax.items import describe_impl
from portkit.syntax.name_table import normalize_rust, strip_comments_and_strings
from portkit.syntax.source_file import COMMENTS, field_text, node_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site

_NUMBERS: Final = frozenset({"char_literal", "float_literal", "integer_literal"})
_STRINGS: Final = frozenset({"raw_string_literal", "string_literal"})
_LITERALS: Final = _NUMBERS | _STRINGS
_PASSED_ON: Final = frozenset(
    {
        "array_expression",
        "assignment_expression",
        "binary_expression",
        "block",
        "else_clause",
        "expression_statement",
        "field_initializer",
        "field_initializer_list",
        "parenthesized_expression",
        "reference_expression",
        "return_expression",
        "struct_expression",
        "try_expression",
        "tuple_expression",
        "type_cast_expression",
        "unary_expression",
        "unsafe_block",
    }
)
"""Expressions whose value is made of the values of their parts."""
_ONE_OF: Final = frozenset({"block", "unsafe_block"})
"""Expressions whose value is that of their last part."""
_WRAPPERS: Final = frozenset({"Ok", "Some", "String::from"})
_SAME_TEXT: Final = frozenset({"into", "to_owned", "to_string"})
"""Methods of a text that give the text."""
_NAMED: Final = frozenset({"const_item", "static_item"})


def explain_value_review(site: Site) -> str:
    """Return why a person reviews the values of a copy, or an empty string."""
    return ". ".join(filter(None, (kind(site) for kind in _OF_A_SITE)))


def _constant(site: Site) -> str:
    """Doubt a constant: ``CUDA_ID: u8 = 1`` gives ``ROCM_ID: u8 = 1``, in an ``impl`` as well."""
    job = site.job
    for node in _copied_items(site):
        value = node.child_by_field_name("value") if node.type in _NAMED else None
        if value is not None and (repeated := _repeated(job, _literals_below(value))):
            name = job.rename(field_text(node, "name"))
            return (
                f"`{name}` repeats {repeated}, CUDA's value. Check whether {job.vendor.title}"
                " needs another one"
            )
    return ""


def _copied_items(site: Site) -> list[Node]:
    """Return the node of a site, and the items of an ``impl`` that gets a copy."""
    within: list[Node] = []
    if site.kind == "impl_item" and site.job.rename(head := describe_impl(site.node)) != head:
        body = site.node.child_by_field_name("body")
        within = body.named_children if body is not None else []
    return [site.node, *within]


def _field(site: Site) -> str:
    """Doubt a value that a field begins with: ``cuda_port: 8080``."""
    value = site.node.child_by_field_name("value") if site.kind == "field_initializer" else None
    if value is None or node_text(value) == "0":
        return ""
    repeated = _repeated(site.job, _results(value))
    return (
        f"The copy begins with {repeated} too. Check whether {site.job.vendor.title} needs another"
        " value"
        if repeated
        else ""
    )


def _answer(site: Site) -> str:
    """Doubt an arm or a branch whose answer is a number or a text: ``Device::Cuda(_) => 32``."""
    if site.kind == "match_arm":
        own = site.node.child_by_field_name("value")
        arms = [node for node, _ in site.siblings if node.type == "match_arm"]
        others = [arm.child_by_field_name("value") for arm in arms if arm.id != site.node.id]
    elif site.kind == "if_expression":
        own = site.node.child_by_field_name("consequence")
        others = [site.node.child_by_field_name("alternative")]
    else:
        return ""
    given = [node for node in others if node is not None]
    repeated = _repeated(site.job, _results(own)) if own is not None else ""
    if not repeated or (given and all(_said(own) == _said(node) for node in given)):
        return ""
    return (
        f"The copy answers with {repeated}, as the CUDA side does. Check whether"
        f" {site.job.vendor.title} needs another value"
    )


def _function(site: Site) -> str:
    """Doubt a function that returns a number or a text: ``fn cuda_warp_size() -> u32 { 32 }``."""
    job = site.job
    for node in _copied_items(site):
        body = node.child_by_field_name("body") if node.type == "function_item" else None
        repeated = _repeated(job, _results(body)) if body is not None else ""
        if repeated not in ("", "`0`"):  # 0 is where a count begins, or the first of some
            name = field_text(node, "name")
            return (
                f"`{job.rename(name)}` returns {repeated}, as CUDA's `{name}` does. Check"
                f" whether {job.vendor.title} needs another value"
            )
    return ""


def _argument(site: Site) -> str:
    """Doubt a number or a text that another arm gives the same function otherwise."""
    own = site.node.child_by_field_name("value") if site.kind == "match_arm" else None
    if own is None or not (given := _arguments(own)):
        return ""
    arms = [node for node, _ in site.siblings if node.type == "match_arm"]
    for arm in arms:
        other = _arguments(arm) if arm.id != site.node.id else {}
        differing = (node for at, node in given.items() if at in other and _differ(node, other[at]))
        if repeated := _repeated(site.job, differing):
            return (
                f"The copy gives {repeated}, as the CUDA side does, and another arm gives another"
                f" value. Check whether {site.job.vendor.title} needs its own"
            )
    return ""


def _alternative(site: Site) -> str:
    """Doubt a text that a branch accepts beside the backend: ``s == "cuda" || s == "gpu"``."""
    asked = site.node.child_by_field_name("condition") if site.kind == "if_expression" else None
    texts: list[Node] = []
    pending = [asked] if asked is not None else []
    while pending:
        current = pending.pop()
        operator = field_text(current, "operator")
        if operator == "||":
            pending += reversed(current.named_children)
        elif operator == "==" and current is not asked:
            texts += [node for node in current.named_children if node.type in _STRINGS]
    repeated = _repeated(site.job, iter(texts))
    return (
        f"The CUDA branch accepts {repeated} before this one does. Check which backend"
        f" {repeated} selects"
        if repeated
        else ""
    )


def _call(site: Site) -> str:
    """Doubt a call that is given a number or a text: ``cuda::register("gpu", 3)``."""
    call = site.node.named_children[0] if site.kind == "expression_statement" else None
    while call is not None and call.type in ("await_expression", "try_expression"):
        call = call.named_children[0]
    given = call.child_by_field_name("arguments") if call is not None else None
    literals = [node for node in given.named_children if node.type in _LITERALS] if given else []
    repeated = _repeated(site.job, iter(literals))
    return (
        f"The copy is given {repeated}, as CUDA's call is. Check whether {site.job.vendor.title}"
        " needs another value"
        if repeated
        else ""
    )


def _maker(site: Site) -> str:
    """Doubt a name of NVIDIA's that the copy keeps: ``Some(Vendor::Nvidia)``."""
    maker, title = site.job.vendor.source_maker, site.job.vendor.title
    if maker.lower() not in site.text.lower():
        return ""  # fast path: to search by the pattern takes far longer
    word = re.compile(rf"\b(?:\w+::)*\w*{re.escape(maker)}\w*\b", re.IGNORECASE)
    if not word.search(site.text):
        return ""
    if named := word.search(strip_comments_and_strings(site.code)):
        return f"The copy names `{named[0]}`. Name what is true of {title}"
    shown = site.kind in ("enum_variant", "field_declaration")
    comments = [node_text(node) for node in site.attributes if node.type in COMMENTS]
    if shown and any(map(word.search, comments)):
        return f"The doc comment of the copy speaks of {maker}. Say what is true of {title}"
    return ""


_OF_A_SITE: Final[tuple[Callable[[Site], str], ...]] = (
    enum_variants.explain_variant_review,
    unique_names.explain_name_review,
    _constant,
    _field,
    _answer,
    _argument,
    _alternative,
    _function,
    _call,
    _maker,
)
"""The kinds of value. One more is a function here, and a row of the table in its test."""


def _said(node: Node | None) -> str:
    """Return what an answer says, without the braces and the comma that it may have."""
    text = normalize_rust(node_text(node)).removeprefix("else").removesuffix(",")
    while text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return text


def _repeated(job: PortJob, literals: Iterator[Node]) -> str:
    """Return the first of some literals that the copy repeats, as Markdown shows code.

    A text of several words is for people, and so is an empty one.
    """
    for node in literals:
        text = node_text(node)
        is_said = node.type in _STRINGS and len(text.split()) != 1
        if text != '""' and not is_said and job.rename(text) == text:
            return f"`{text}`"
    return ""


def _literals_below(node: Node) -> Iterator[Node]:
    """Yield the literals of a value, however deep they stand in it."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in _LITERALS:
            yield current
        pending += reversed(current.named_children)


def _results(node: Node) -> Iterator[Node]:
    """Yield the literals that the value of an expression is made of."""
    pending = [node]
    while pending:
        current = pending.pop()
        parts = [c for c in current.named_children if c.type not in COMMENTS]
        if current.type in _LITERALS:
            yield current
        elif current.type in _ONE_OF:
            pending += [_bound_value(part, parts) for part in parts[-1:]]
        elif current.type in _PASSED_ON:
            pending += reversed(parts)
        elif current.type == "if_expression":
            branches = ("alternative", "consequence")
            pending += [b for f in branches if (b := current.child_by_field_name(f)) is not None]
        elif current.type == "call_expression":
            pending += _given_on(current)


def _bound_value(last: Node, parts: list[Node]) -> Node:
    """Return what a name at the end of a block stands for, if the block binds it, else the name."""
    for part in reversed(parts) if last.type == "identifier" else ():
        value = part.child_by_field_name("value") if part.type == "let_declaration" else None
        if value is not None and field_text(part, "pattern") == node_text(last):
            return value
    return last


def _arguments(node: Node) -> dict[tuple[str, int], Node]:
    """Return the literals that calls in a node are given, by the function and their position."""
    found: dict[tuple[str, int], Node] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        given = current.child_by_field_name("arguments")
        if current.type == "call_expression" and given is not None:
            function = normalize_rust(field_text(current, "function"))
            for at, argument in enumerate(given.named_children):
                if argument.type in _LITERALS:
                    found.setdefault((function, at), argument)
        pending += reversed(current.named_children)
    return found


def _differ(node: Node, other: Node) -> bool:
    return node_text(node) != node_text(other)


def _given_on(call: Node) -> list[Node]:
    """Return what a call returns as it is, such as the value of ``Some``."""
    function = call.child_by_field_name("function")
    if function is not None and field_text(function, "field") in _SAME_TEXT:
        text = function.child_by_field_name("value")
        return [text] if text is not None else []
    arguments = call.child_by_field_name("arguments")
    is_wrapper = node_text(function) in _WRAPPERS
    return arguments.named_children[::-1] if is_wrapper and arguments is not None else []
