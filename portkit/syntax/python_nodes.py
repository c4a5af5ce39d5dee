"""Python source, as far as the bindings of a Rust tree need it.

Kinds of node: the grammar tree-sitter-python, after the Python reference's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from portkit.syntax.name_table import NameTable
from portkit.syntax.source_file import SourceFile, field_text, node_text

CONDITIONAL = frozenset({"if_statement", "elif_clause", "while_statement"})
"""What has a condition."""
_PROSE = frozenset({"comment", "string_content"})


def rename_python(names: NameTable, node: Node, instead: tuple[Node, str] | None = None) -> str:
    r"""Return the text of a node under other names.

    Args:
        names: the names; identifiers are renamed as such, strings and comments as prose.

    Returns:
        The text, with ``\n`` as line ending.
    """
    assert node.text is not None  # every node of a file that was parsed has its bytes
    pieces = []
    at = node.start_byte
    for leaf in _list_leaves(node):
        text = node_text(leaf)
        if instead is not None and leaf == instead[0]:
            text = instead[1]
        elif leaf.type == "identifier":
            text = names.word(text)
        elif leaf.type in _PROSE:
            text = names.text(text)
        start = leaf.start_byte - node.start_byte
        pieces += [node.text[at - node.start_byte : start].decode(), text]
        at = leaf.end_byte
    pieces.append(node.text[at - node.start_byte :].decode())
    return "".join(pieces).replace("\r\n", "\n")


def _list_leaves(node: Node) -> Iterator[Node]:
    if not node.children or node.type in _PROSE:
        yield node
    else:
        for child in node.children:
            yield from _list_leaves(child)


def find_comment_end(source: SourceFile, offset: int) -> int:
    """Return the end of a comment that follows ``offset`` on its line, or ``offset``."""
    match = re.compile(rb"[ \t]*#[^\r\n]*").match(source.data, offset)
    return match.end() if match else offset


def find_definition(node: Node) -> Node | None:
    """Return the function that a node defines, with decorators or without, or none."""
    inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
    return inner if inner is not None and inner.type == "function_definition" else None


def find_assigned_name(statement: Node) -> str:
    """Return the name that a statement assigns to, or an empty string."""
    inner = statement.named_children[0] if statement.named_children else statement
    left = inner.child_by_field_name("left") if inner.type == "assignment" else None
    return node_text(left) if left is not None and left.type == "identifier" else ""


def find_statement_name(node: Node) -> str:
    """Return the name of a function or of an assigned variable, or an empty string."""
    function = find_definition(node)
    return find_assigned_name(node) if function is None else field_text(function, "name")


def read_operator(node: Node) -> str:
    """Return the operator of a node that has one, such as ``or`` or ``==``."""
    return node_text(
        node.child_by_field_name("operator" if "boolean" in node.type else "operators")
    )
