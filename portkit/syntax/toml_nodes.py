"""Manifests: the pairs and tables of TOML, as tree-sitter-toml names them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from portkit.syntax.source_file import node_text


def read_key(pair: Node) -> str:
    """Return the key of a pair in a manifest."""
    return node_text(pair.named_children[0]) if pair.named_children else ""


def unquote(key: str) -> str:
    """Return a key or a string without its quotes."""
    return key[1:-1] if key[:1] in ('"', "'") else key


def quote_key(key: str) -> str:
    """Return a key as a manifest spells it, quoted if necessary (TOML 1.0, "Keys")."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'


def find_value(pair: Node) -> Node:
    """Return the value of a pair; a comment after it is a child of the pair too."""
    return pair.named_children[1]


def find_pair_end(pair: Node) -> int:
    """Return the end of a pair with its comment, without a carriage return."""
    return pair.children[-1].end_byte


def find_table_end(table: Node) -> int:
    """Return the end of a table's last pair: a comment above the next table is its last child."""
    return find_pair_end([c for c in table.named_children if c.type == "pair"][-1])


def read_table_header(pair: Node) -> str:
    """Return the header of the table that holds a pair, without quotes."""
    parent = pair.parent
    if parent is None or parent.type not in ("table", "table_array_element"):
        return ""
    return _find_header(parent)


def find_root(node: Node) -> Node:
    """Return the manifest that a node is part of, as a whole."""
    while node.parent is not None:
        node = node.parent
    return node


def find_first_key(pair: Node) -> Node:
    """Return the first part of a pair's key, which may be dotted, or the pair itself."""
    return next(_find_keys(pair), pair)


def _find_header(table: Node) -> str:
    return ".".join(unquote(node_text(key)) for key in _find_keys(table))


def _find_keys(node: Node) -> Iterator[Node]:
    """Yield the parts of the key of a pair, or of the header of a table."""
    first = node.named_child(0)  # not all children, of which a table may have any number
    pending = [first] if first is not None else []
    while pending:
        key = pending.pop()
        if key.type == "dotted_key":
            pending += reversed(key.named_children)
        else:
            yield key


def read_strings(array: Node) -> list[str]:
    """Return the strings of an array."""
    return [node_text(c)[1:-1] for c in array.named_children if c.type == "string"]


def find_entry(table: Node, key: str) -> Node | None:
    """Return the value of a key of a table, if it has one."""
    for pair in table.named_children:
        if pair.type == "pair" and unquote(read_key(pair)) == key:
            return find_value(pair)
    return None


def read_entry_name(node: Node) -> str:
    """Return the name that identifies a pair, a table or an element of an array of tables.

    That is the first part of the key, which may be dotted as in ``cudarc.workspace``, the header of
    the table, or what the element says its ``name`` is; all without quotes, in which TOML has the
    same keys.
    """
    if node.type == "pair":
        return unquote(node_text(find_first_key(node)))
    if node.type == "table":
        return _find_header(node)
    name = find_entry(node, "name") if node.type == "table_array_element" else None
    return node_text(name)[1:-1] if name is not None else ""
