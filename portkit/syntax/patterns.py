"""Patterns of Rust: their members, the values they match, their bindings, their parentheses.

Grammar: the Rust reference, chapter "Patterns"; kinds of node as tree-sitter-rust names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from portkit.syntax.name_table import strip_comments_and_strings
from portkit.syntax.source_file import COMMENTS, SourceFile, node_text
from portkit.syntax.span import Span

_FIELDS = re.compile(r"\{[^{}]*\}")
_BOUND = re.compile(r"(?<=[{,])\s*(?:ref\s+|mut\s+)*[A-Z]\w*\s*(?=[,}])")
_VALUES = frozenset({"struct_pattern", "tuple_struct_pattern"})
"""Patterns of a value that has a path: a variant or a struct."""
_BINDS_NOTHING = frozenset(
    {"const_block", "field_identifier", "match_condition", "range_pattern", "scoped_identifier"}
)


def split_or_pattern(pattern: Node) -> list[Node]:
    """Return the members of an or-pattern, flattened; a plain pattern is its own member.

    Parentheses around a pattern are no part of it.
    """
    inner = [child for child in pattern.named_children if child.type not in COMMENTS]
    if pattern.type == "or_pattern":
        return [m for child in inner for m in split_or_pattern(child)]
    if inner and (pattern.type == "match_pattern" or _is_grouped(pattern)):
        return split_or_pattern(inner[0])
    return [pattern]


def list_parts(pattern: Node) -> list[Node]:
    """Return what a pattern is made of; the grammar gives ``_`` no name."""
    return [c for c in pattern.children if c.type == "_" or (c.is_named and c.type not in COMMENTS)]


def _is_grouped(pattern: Node) -> bool:
    """Whether a pattern is in parentheses and is no tuple."""
    return pattern.type == "tuple_pattern" and [c.type for c in pattern.children[::2]] == ["(", ")"]


def find_mixed_or_patterns(pattern: Node, named: Callable[[str], bool]) -> list[list[Node]]:
    """Return the members of each or-pattern that mixes a named value with others.

    There are none where the rest of the pattern is named too: then the pattern is about such
    values alone.
    """
    found: list[list[Node]] = []
    if pattern.type == "match_pattern":
        pattern = pattern.children[0]  # without its guard
    rest = node_text(pattern)
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type != "or_pattern":
            pending += node.named_children
            continue
        listed = split_or_pattern(node)
        if len({named(node_text(m)) for m in listed}) == 2:
            found.append(listed)
            rest = rest.replace(node_text(node), "_")
    return [] if named(rest) else found


def pattern_key(text: str) -> tuple[str, ...]:
    """Return what identifies a pattern: the last names of its paths, and its strings.

    A field that is bound under its own name is no path, also where it begins in upper case. A
    pattern without either is its own key.
    """
    if "{" in text:
        text = _FIELDS.sub(lambda fields: _BOUND.sub("", fields[0]), text)
    return tuple(re.findall(r'\b[A-Z]\w*\b(?!::)|"[^"]*"', text)) or (text.strip(),)


def find_enum_names(pattern: Node, own_type: str) -> tuple[str, ...]:
    """Return the enums that a pattern names, each once; ``string`` if it only names strings."""
    text = strip_comments_and_strings(node_text(pattern))
    names = re.findall(r"(?:\w+::)*(\w+)::[A-Z]\w*", text)
    unique = dict.fromkeys(own_type if name == "Self" else name for name in names)
    found = tuple(name for name in unique if name)
    return found or (("string",) if '""' in text else ())


def find_enum_name(pattern: Node, own_type: str) -> str:
    """Return the enum that a pattern is about in words: a tuple of them, or ``value``."""
    names = find_enum_names(pattern, own_type) or ("value",)
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def find_bindings(pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds, and each macro, since it may bind any.

    A name that begins in upper case is a constant or a variant (RFC 430, "naming conventions").
    """
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type in ("macro_invocation", "shorthand_field_identifier"):
            yield node
        elif node.type == "identifier":
            if not node_text(node)[:1].isupper():
                yield node
        elif node.type not in _BINDS_NOTHING:
            path = node.child_by_field_name("type") if node.type in _VALUES else None
            guard = node.child_by_field_name("condition")
            pending += (c for c in node.named_children if c not in (path, guard))


def find_let(condition: Node | None, named: Callable[[str], bool]) -> Node | None:
    """Return the one `let` of a condition or a chain whose pattern has a name, or None."""
    if condition is None:
        return None
    lets = condition.named_children if condition.type == "let_chain" else [condition]
    found = [
        each
        for each in lets
        if each.type == "let_condition" and named(node_text(each.child_by_field_name("pattern")))
    ]
    return found[0] if len(found) == 1 else None


def hide_bindings(pattern: Node) -> str:
    """Return the text of a pattern with ``_`` for each name that it binds."""
    text, start = node_text(pattern).encode(), pattern.start_byte
    for name in sorted(find_bindings(pattern), key=lambda node: node.start_byte, reverse=True):
        if name.type == "identifier":
            text = text[: name.start_byte - start] + b"_" + text[name.end_byte - start :]
    return text.decode()


def may_bind_value(pattern: Node, named: Callable[[str], bool]) -> bool:
    """Whether a pattern binds something whose type may be the named value's own.

    Such a pattern cannot be a member beside that of another value: a name has the same type in all
    members (E0308) and stands in each of them (E0408).
    """
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type in _VALUES and named(node_text(node.child_by_field_name("type"))):
            if any(True for _ in find_bindings(node)):
                return True
        else:
            pending += node.named_children
    return any(named(node_text(name)) for name in find_bindings(pattern))


def parse_pattern(text: str) -> Node:
    """Return the pattern that a text is, such as one among the tokens of a macro."""
    source = SourceFile("pattern.rs", f"fn f() {{ match x {{ {text} => {{}} }} }}".encode())
    pending = [source.tree.root_node]
    while pending:
        node = pending.pop()
        pattern = node.child_by_field_name("pattern") if node.type == "match_arm" else None
        if pattern is not None:
            return pattern
        pending += node.named_children
    return source.tree.root_node


def append_members(pattern: Node, added: str) -> tuple[tuple[int, str], ...]:
    """Return the insertions, as offsets and texts, that add members to a pattern.

    The pattern of a ``let`` has no alternatives outside parentheses (the Rust reference, chapter
    "Statements": ``PatternNoTopAlt``).
    """
    parent = pattern.parent
    if parent is not None and parent.type == "let_declaration":
        return (pattern.start_byte, "("), (pattern.end_byte, f" | {added})")
    return ((pattern.end_byte, f" | {added}"),)


def parse_matches_macro(macro: Node) -> tuple[Span, list[Span], Span]:
    """Return the value of a ``matches!``, the members of its pattern, and its guard.

    The arguments of a macro are tokens, not syntax; the guard may be empty. Comments beside a
    member are no part of it. Source: the documentation of ``core::matches``,
    ``matches!(expression, pattern if guard)``.
    """
    tree = next((c for c in macro.named_children if c.type == "token_tree"), None)
    inside = tree.children[1:-1] if tree is not None else []
    tokens = [token for token in inside if not token.type.endswith("_comment")]
    groups: list[list[Node]] = [[]]
    in_guard = False
    for token in tokens:
        if (len(groups) == 1 and token.type == ",") or (
            len(groups) > 1 and token.type == "|" and not in_guard
        ):
            groups.append([])
        elif len(groups) > 1 and (token.text or b"") == b"if" and not in_guard:
            groups.append([token])
            in_guard = True
        elif token.type != ",":
            groups[-1].append(token)
    spans = [Span(g[0].start_byte, g[-1].end_byte) for g in groups if g]
    if not spans:
        nothing = Span(macro.end_byte, macro.end_byte)
        return nothing, [], nothing
    end = spans[-1].end
    guard = spans.pop() if in_guard else Span(end, end)
    return spans[0], spans[1:], guard
