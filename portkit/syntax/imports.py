"""What a ``use`` of Rust brings in.

Kinds of node: the Rust reference, chapter "Use declarations", as tree-sitter-rust names them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from tree_sitter import Node

from portkit.syntax.source_file import SourceFile, field_text, node_text


def find_import_leaves(use: Node) -> Iterator[tuple[Node, str]]:
    """Yield the node of each imported item with the path before it."""
    argument = use.child_by_field_name("argument")
    yield from _leaves(argument, "") if argument is not None else ()


def _leaves(node: Node, prefix: str) -> Iterator[tuple[Node, str]]:
    if node.type == "scoped_use_list":
        path = field_text(node, "path")
        inner = node.child_by_field_name("list")
        if inner is not None:
            yield from _leaves(inner, f"{prefix}{path}::" if path else prefix)
    elif node.type == "use_list":
        for child in node.named_children:
            yield from _leaves(child, prefix)
    else:
        # `::` at the head begins at the crates, whatever stands before the list.
        yield node, "" if node_text(node).startswith("::") else prefix


def find_import_paths(use: Node) -> Iterator[str]:
    """Yield the whole path of each imported item."""
    return (prefix + node_text(node) for node, prefix in find_import_leaves(use))


def find_imported_names(use: Node) -> Iterator[str]:
    """Yield each name that an import brings into scope; a glob brings in none that could clash."""
    return (name for node, _ in find_import_leaves(use) if (name := find_imported_name(node)))


def find_imported_name(leaf: Node) -> str:
    """Return the name that a leaf of an import brings in, or an empty string."""
    if leaf.type == "use_as_clause":
        return field_text(leaf, "alias")
    return "" if leaf.type in ("self", "use_wildcard") else read_leaf_name(leaf)


def import_unnamed(text: str, names: Container[str]) -> str:
    """Import the items of some names as ``_``.

    Of a trait, that leaves the methods (the Rust reference, chapter "Use declarations", "Underscore
    imports").
    """
    data = text.encode()
    uses = SourceFile("copy.rs", data).tree.root_node.children
    found = (
        node for use in uses if use.type == "use_declaration" for node, _ in find_import_leaves(use)
    )
    for node in reversed([*found]):
        if node.type in ("identifier", "scoped_identifier") and read_leaf_name(node) in names:
            data = data[: node.end_byte] + b" as _" + data[node.end_byte :]
    return data.decode()


def read_leaf_name(node: Node) -> str:
    """Return the name that a leaf of an import without an alias has."""
    return node_text(node).rsplit("::", 1)[-1]
