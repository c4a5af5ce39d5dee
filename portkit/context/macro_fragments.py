"""Rust code among the tokens of a macro, parsed so that each node keeps its offset in the file."""

from __future__ import annotations

from typing import Any, Final

from tree_sitter import Node, Tree

from portkit.context.port_job import Site
from portkit.syntax.known_macros import EVALUATING, find_use
from portkit.syntax.source_file import SourceFile, field_text, find_grammar

Known = dict[tuple[Any, ...], Any]
"""Parsed fragments, which live as long as their nodes are used."""
_TEXT: Final = ("text of fragments",)
_CALL: Final = b"fn f(){g"
_ARRAY: Final = b"fn f(){ "
_BODY: Final = b"fn f() "


def find_macro_name(macro: Node) -> str:
    """Return the name of a macro that is called, without its path."""
    return field_text(macro, "macro").rsplit("::", 1)[-1]


def parse_tokens(site: Site) -> Node | None:
    """Parse the tokens of a macro that are expressions or statements; return what holds them."""
    if site.kind != "token_tree" or site.outer is None:
        return None
    outer = site.outer.node
    if outer.type == "macro_rule":
        body = outer.child_by_field_name("right")
        is_body = body is not None and body.id == site.node.id
        return parse_body(site.source, outer, site.known) if is_body else None
    if outer.type != "macro_invocation" or not is_evaluating(outer):
        return None
    return _parse_list(site.source, outer, site.known)


def is_evaluating(macro: Node) -> bool:
    """Tell whether a macro is known to evaluate its arguments."""
    return find_use(find_macro_name(macro)) in EVALUATING


def parse_arguments(source: SourceFile, macro: Node, known: Known) -> tuple[Node, ...]:
    """Parse the arguments of a macro call as expressions; none if they are something else."""
    found = _parse_list(source, macro, known)
    return tuple(found.named_children) if found is not None else ()


def _parse_list(source: SourceFile, macro: Node, known: Known) -> Node | None:
    """Return the list of expressions that the arguments of a macro call are."""
    tokens = next((c for c in macro.named_children if c.type == "token_tree"), None)
    if tokens is None:
        return None
    data = source.data[tokens.start_byte : tokens.end_byte]
    if data[:1] == b"{":
        data = b"(%s)" % data[1:-1]
    head = _ARRAY if data[:1] == b"[" else _CALL
    root = _parse(source, known, tokens.start_byte, head, data, b"}")
    block = root.named_children[0].child_by_field_name("body") if root is not None else None
    if block is None or len(block.named_children) != 1:
        return None
    whole = block.named_children[0]
    if whole.type == "expression_statement":
        whole = whole.named_children[0]
    return whole.child_by_field_name("arguments") if head is _CALL else whole


def parse_body(source: SourceFile, rule: Node, known: Known) -> Node | None:
    """Parse what a rule of `macro_rules!` writes as a block; return None if it is no statements."""
    right = rule.child_by_field_name("right")
    if right is None:
        return None
    inner = source.data[right.start_byte + 1 : right.end_byte - 1]
    root = _parse(source, known, right.start_byte, _BODY, b"{%s}" % inner, b"")
    block = root.named_children[0].child_by_field_name("body") if root is not None else None
    if block is None or any(_is_item(child) for child in block.named_children):
        return None
    return block


def _is_item(node: Node) -> bool:
    return node.type.endswith(("_item", "_declaration")) and node.type != "let_declaration"


def _parse(
    source: SourceFile, known: Known, start: int, head: bytes, data: bytes, tail: bytes
) -> Node | None:
    """Parse a text between a head and a tail, at its offset in the file."""
    if start < len(head):
        return None
    key = ("fragment", start, head)
    if key not in known:
        text = known.setdefault(_TEXT, bytearray(source.data + b" "))
        known[key] = _parse_part(text, start - len(head), head + data + tail).root_node
    root: Node = known[key]
    return None if root.has_error else root


def _parse_part(text: bytearray, start: int, part: bytes) -> Tree:
    """Parse a text as if it stood at an offset of a file, whose nodes have the file's own text.

    Nothing before it is read, and all fragments share one copy of the file: the time of many grows
    with their length alone.
    """
    from tree_sitter import Parser, Point, Range

    end = start + len(part)
    parser = Parser(find_grammar("fragment.rs"))
    parser.included_ranges = [Range(Point(0, start), Point(0, end), start, end)]
    own = text[start:end]
    text[start:end] = part
    tree = parser.parse(text)
    text[start:end] = own
    return tree
