"""What the ports of two gatings say, without what they may differ in.

A member of a pattern, and a name in a list of imports, cannot stand under a feature. The gating
``cfg`` writes each apart, and here both are read as the same: an arm for each member, an import for
each name.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from portkit.syntax import imports, patterns
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import COMMENTS, SourceFile, group_attributes, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

_GATED = '#[cfg(feature="rocm")]'
_WITHOUT = '#[cfg(not(feature="rocm"))]'
_LISTS = frozenset({"block", "declaration_list", "source_file"})
"""Nodes that hold imports."""


def differing(dummy: Mapping[str, bytes], cfg: Mapping[str, bytes]) -> list[str]:
    """Return the files in which two ports differ in more than attributes and the dummy backend."""
    paths = sorted(path for path in {*dummy, *cfg} if "dummy_rocm" not in path)
    written = [(path, dummy.get(path, b""), cfg.get(path, b"")) for path in paths]
    return [
        path
        for path, one, other in written
        if one != other and _meaning(path, one) != _meaning(path, other)
    ]


def _meaning(path: str, data: bytes) -> Any:
    """Return what a file says, without what the gatings may differ in."""
    if not path.endswith(".rs"):
        return data
    return _read(SourceFile(path, data).tree.root_node)


def _read(node: Node) -> Any:
    if node.type == "macro_invocation" and (asked := _matches(node)) is not None:
        return asked
    if node.type == "token_tree":
        return _read_tokens(node)
    if node.child_count == 0:
        return normalize_rust(node_text(node))
    brought_in: set[str] = set()
    read: list[Any] = []
    for child, attached in group_attributes(node):
        attributes = [normalize_rust(node_text(a)) for a in attached if a.type == "attribute_item"]
        if child.type in COMMENTS or _WITHOUT in attributes or "dummy_rocm" in node_text(child):
            continue
        kept = [a for a in attributes if a != _GATED]
        if child.type == "use_declaration" and node.type in _LISTS:
            shown = [normalize_rust(node_text(c)) for c in child.children if "visib" in c.type]
            brought_in |= {
                " ".join([*kept, *shown, path]) for path in imports.find_import_paths(child)
            }
        elif child.type == "match_arm":
            read += _arms(child)
        elif child.type == "attribute_item":
            read += [text] if (text := normalize_rust(node_text(child))) != _GATED else []
        elif child.type not in (",", ";"):
            read += ((*kept, each) for each in _steps(child))
    if node.type == "match_block":
        read.sort(key=repr)
    if node.type == "block":
        read = [each for _, run in itertools.groupby(read, _is_step) for each in _in_order(run)]
    if node.type == "expression_statement" and len(read) == 1:
        return read[0][0]  # a value that ends a block is no statement for the parser
    kind = "match" if node.type == "match_expression" else node.type
    return (kind, *sorted(brought_in), *read)


def _read_tokens(tokens: Node) -> Any:
    """Read the tokens of a macro as a list of expressions if they are one, else as text."""
    source = SourceFile("tokens.rs", f"fn f() {{ g({node_text(tokens)[1:-1]}) }}".encode())
    if source.tree.root_node.has_error:
        return normalize_rust(node_text(tokens)).replace(_GATED, "")
    return _read(source.tree.root_node)


def _is_step(read: Any) -> bool:
    return bool(read) and read[-1][0] == "if let"


def _in_order(steps: Iterator[Any]) -> list[Any]:
    """Return steps in an order that does not depend on that of the values."""
    listed = list(steps)
    return sorted(listed, key=repr) if _is_step(listed[0]) else listed


def _steps(node: Node) -> Iterator[Any]:
    """Yield what a node says; an ``if let`` without ``else`` once for each value."""
    inner = node.named_children[0] if node.type == "expression_statement" else node
    condition = inner.child_by_field_name("condition") if inner.type == "if_expression" else None
    pattern = condition.child_by_field_name("pattern") if condition is not None else None
    if pattern is None or inner.child_by_field_name("alternative") is not None:
        yield _read(node)
        return
    assert condition is not None
    value = condition.child_by_field_name("value")
    body = inner.child_by_field_name("consequence")
    assert value is not None
    assert body is not None
    for text in _alternatives(pattern):
        yield ("if let", text, _read(value), _read(body))


def _arms(arm: Node) -> Iterator[Any]:
    """Yield an arm for each value that an arm is about."""
    attributes = [normalize_rust(node_text(c)) for c in arm.children if c.type == "attribute_item"]
    if _WITHOUT in attributes:
        return
    kept = [a for a in attributes if a != _GATED]
    pattern, value = (arm.child_by_field_name(name) for name in ("pattern", "value"))
    assert pattern is not None
    assert value is not None
    inner, condition = pattern.children[0], pattern.child_by_field_name("condition")
    guard = normalize_rust(node_text(condition))
    for text in _alternatives(inner):
        yield (*kept, text, guard, repr(_read(value)))


def _alternatives(pattern: Node) -> list[str]:
    """Return the values that a pattern is about, its or-patterns multiplied out."""
    members = patterns.split_or_pattern(pattern)
    if len(members) > 1:
        return [text for member in members for text in _alternatives(member)]
    only = members[0]
    if only.child_count == 0 or only.type == "string_literal":
        return [normalize_rust(node_text(only))]
    parts = [_alternatives(c) if c.is_named else [node_text(c)] for c in only.children]
    return ["".join(each) for each in itertools.product(*parts)]


def _matches(macro: Node) -> Any:
    """Return the ``match`` that a ``matches!`` is short for."""
    if not re.match(r"(?:\w+::)*matches!", node_text(macro)):
        return None
    text, start = macro.text or b"", macro.start_byte
    value, members, guard = patterns.parse_matches_macro(macro)
    said = [text[s.start - start : s.end - start].decode() for s in (value, *members, guard)]
    arm = f"{' | '.join(said[1:-1])} {said[-1]}"
    source = f"fn f() {{ match {said[0]} {{ {arm} => true, _ => false }} }}"
    root = SourceFile("matches.rs", source.encode()).tree.root_node
    body = root.named_children[0].child_by_field_name("body")
    assert body is not None
    statement = body.named_children[0]
    return _read(statement.named_children[0] if "statement" in statement.type else statement)
