"""The text that a call of `macro_rules!` writes, if that is certain.

Grammar: the Rust reference, "Macros by example". A call that needs a fragment which is not known
here has no expansion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tree_sitter import Node

from portkit.syntax.source_file import ATTACHED, COMMENTS, SourceFile, field_text, node_text
from portkit.syntax.token_items import find_item_end
from portkit.syntax.value import Value

_EXPRESSIONS: Final = frozenset({"expr", "expr_2021"})
_TYPES: Final = frozenset({"path", "ty"})
_ENDS: Final = frozenset({",", ";", "=>", "="})
"""What may follow an expression, a pattern or a type, as far as it is known here."""
_ENDS_OF: Final[Mapping[str, frozenset[str]]] = {
    "meta": frozenset({","}),
    "pat": frozenset({*_ENDS, "if", "in"}),
    "pat_param": frozenset({*_ENDS, "if", "in"}),
    "stmt": frozenset({",", ";", "=>"}),
}
_MOST: Final = 1_000  # The longest list of arguments that is matched, in tokens.

Bindings = dict[str, "str | list[Bindings]"]
"""The text of each parameter. One in a repetition has the bindings of each time."""


class Repeated(Value, frozen=True):
    """The tokens of a call that a repetition of its rule matches at one time."""

    start: int
    end: int
    separator: str  # The token that the rule requires before the next time; empty without one.


class _Match(Value, frozen=True):
    """A rule that matches a call."""

    right: Node
    bindings: Bindings
    # The tokens of each repetition, and of nested ones before the outer one.
    repeated: tuple[Repeated, ...]


class _NoMatchError(Exception):
    """The rule does not match."""


class _UnknownError(Exception):
    """portkit cannot tell if the rule matches."""


def expand_macro(definition: Node, call: Node) -> str | None:
    """Return the text that a call of a macro writes; None if that is not certain."""
    try:
        match = _find_match(definition, call)
        return _write(match.right, match.bindings)[1:-1] if match is not None else None
    except _UnknownError:
        return None


def matches_macro(definition: Node, call: Node) -> bool | None:
    """Tell whether a rule of a macro matches a call; None if that is not certain."""
    try:
        return _find_match(definition, call) is not None
    except _UnknownError:
        return None


def find_repeated(definition: Node, call: Node) -> tuple[Repeated, ...]:
    """Return the tokens of a call that repetitions of its rule match; none if not certain."""
    try:
        match = _find_match(definition, call)
    except _UnknownError:
        return ()
    return match.repeated if match is not None else ()


def _find_match(definition: Node, call: Node) -> _Match | None:
    """Return the first rule that matches a call; None if no rule does."""
    tree = next((c for c in call.named_children if c.type == "token_tree"), None)
    if tree is None or len(tree.children) > _MOST:
        raise _UnknownError
    given = _inside(tree)
    for rule in definition.named_children:
        if rule.type != "macro_rule":
            continue
        left, right = rule.child_by_field_name("left"), rule.child_by_field_name("right")
        if left is None or right is None:
            raise _UnknownError
        repeated: list[Repeated] = []
        try:
            bindings, end = _match(_inside(left), given, 0, repeated)
        except _NoMatchError:
            continue
        if end == len(given):
            return _Match(right, bindings, tuple(repeated))
    return None


def _inside(tree: Node) -> list[Node]:
    """Return the tokens between the brackets of a tree; a comment is none."""
    return [child for child in tree.children[1:-1] if child.type not in COMMENTS]


def _match(
    pattern: Sequence[Node], given: Sequence[Node], at: int, repeated: list[Repeated]
) -> tuple[Bindings, int]:
    """Match a pattern with the tokens from an index on; return the end of the match."""
    found: Bindings = {}
    for part in pattern:
        if part.type == "token_binding_pattern":
            end = _find_end(field_text(part, "type"), given, at)
            found[field_text(part, "name")] = _text(given[at:end], field_text(part, "type"))
            at = end
        elif part.type == "token_repetition_pattern":
            times, at = _match_times(part, given, at, repeated)
            found |= dict.fromkeys(_names(part), times)
        elif at == len(given):
            raise _NoMatchError
        elif part.type == "token_tree_pattern":
            tree = given[at]
            if tree.type != "token_tree" or part.children[0].type != tree.children[0].type:
                raise _NoMatchError
            inner = _inside(tree)
            more, end = _match(_inside(part), inner, 0, repeated)
            if end != len(inner):
                raise _NoMatchError
            found |= more
            at += 1
        elif node_text(part) == node_text(given[at]):
            at += 1
        else:
            raise _NoMatchError
    return found, at


def _match_times(
    part: Node, given: Sequence[Node], at: int, repeated: list[Repeated]
) -> tuple[list[Bindings], int]:
    inner, separator, operator = _parts(part)
    times: list[Bindings] = []
    start = at
    while start < len(given):
        try:
            found, end = _match(inner, given, start, repeated)
        except _NoMatchError:
            break
        if end == start:
            raise _UnknownError
        times.append(found)
        first, at, start = given[start], end, end
        if operator == "?":
            break
        repeated.append(Repeated(first.start_byte, given[end - 1].end_byte, separator))
        if separator:
            if at == len(given) or node_text(given[at]) != separator:
                break
            start = at + 1
    if operator == "+" and not times:
        raise _NoMatchError
    return times, at


def _find_end(kind: str, given: Sequence[Node], at: int) -> int:
    """Return the end of the fragment that begins at a token."""
    if kind == "vis":
        shown = at < len(given) and node_text(given[at]) == "pub"
        inside = shown and at + 1 < len(given) and given[at + 1].type == "token_tree"
        return at + shown + inside
    if at == len(given):
        raise _NoMatchError
    first = given[at]
    if kind == "tt":
        return at + 1 + (node_text(first) == "'")
    if kind == "lifetime" and node_text(first) == "'":
        return at + 2
    if kind == "literal" and node_text(first) == "-" and at + 1 < len(given):
        return _find_end(kind, given, at + 1)
    if kind in ("block", "ident", "lifetime", "literal"):
        fits = {
            "block": first.type == "token_tree" and node_text(first).startswith("{"),
            "ident": node_text(first) != "_" and node_text(first).removeprefix("r#").isidentifier(),
            "literal": first.type.endswith("_literal"),
        }
        if not fits.get(kind):
            raise _NoMatchError
        return at + 1
    if kind in ("item", "stmt"):
        end = find_item_end(given, at)
        if _is_item(given[at:end]):
            return end
    if kind not in _EXPRESSIONS | _TYPES | _ENDS_OF.keys():
        raise _UnknownError
    return _find_separator(kind, given, at)


def _is_item(tokens: Sequence[Node]) -> bool:
    """Tell whether some tokens are one item, with its attributes."""
    root = SourceFile("item.rs", _text(tokens, "item").encode()).tree.root_node
    last = [node for node in root.named_children if node.type not in ATTACHED]
    ends = ("_item", "use_declaration", "extern_crate_declaration")
    return not root.has_error and len(last) == 1 and last[0].type.endswith(ends)


def _find_separator(kind: str, given: Sequence[Node], at: int) -> int:
    """Return the end of the expression, pattern or type that begins at a token."""
    start, depth = at, 0
    ends = _ENDS_OF.get(kind, _ENDS)
    while at < len(given) and (depth or node_text(given[at]) not in ends):
        text = node_text(given[at])
        if (kind in _EXPRESSIONS or kind == "stmt") and text in ("<", "|", "||"):
            raise _UnknownError  # a comma behind it may belong to the expression
        if text == "#" or (kind == "pat_param" and text == "|"):
            raise _NoMatchError
        if kind in _TYPES:
            depth += (text == "<") - text.count(">") * (text in (">", ">>"))
        at += 1
    if at == start:
        raise _NoMatchError
    return at


def _text(tokens: Sequence[Node], kind: str) -> str:
    """Return the text of a fragment; an expression stays one operand."""
    if not tokens:
        return ""
    out, end = "", tokens[0].start_byte
    for token in tokens:
        out += " " * (token.start_byte > end) + node_text(token)
        end = token.end_byte
    return f"({out})" if kind in _EXPRESSIONS and len(tokens) > 1 else out


def _parts(repetition: Node) -> tuple[list[Node], str, str]:
    """Return the repeated nodes, the separator and the operator."""
    children = repetition.children
    close = max(number for number, child in enumerate(children) if node_text(child) == ")")
    whole = node_text(repetition)
    tail = whole[-1 - (repetition.end_byte - children[close].end_byte) + 1 :].strip()
    return children[2:close], tail[:-1].strip(), tail[-1:]


def _names(node: Node) -> list[str]:
    """Return the parameters that a pattern binds."""
    found, pending = [], [node]
    while pending:
        current = pending.pop()
        pending += current.children
        if current.type == "token_binding_pattern":
            found.append(field_text(current, "name"))
    return found


def _write(node: Node, bindings: Bindings) -> str:
    """Return the text of a node with the parameters replaced."""
    if node.type == "metavariable":
        name = node_text(node)
        value = "crate" if name == "$crate" else bindings.get(name)
        if not isinstance(value, str):
            raise _UnknownError
        return value
    if node.type == "token_repetition":
        return _write_times(node, bindings)
    if not node.children:
        return node_text(node)
    return _splice(node.text or b"", node.start_byte, node.children, bindings)


def _splice(text: bytes, start: int, children: Sequence[Node], bindings: Bindings) -> str:
    """Return a text in which each child is written."""
    out, at = [], 0
    for child in children:
        out += [text[at : child.start_byte - start].decode(), _write(child, bindings)]
        at = child.end_byte - start
    return "".join([*out, text[at:].decode()])


def _write_times(node: Node, bindings: Bindings) -> str:
    inner, separator, _ = _parts(node)
    used = {node_text(each) for child in inner for each in _metavariables(child)}
    lists = [value for name in used if isinstance(value := bindings.get(name), list)]
    if not lists or len({len(each) for each in lists}) > 1:
        raise _UnknownError
    text, start = node.text or b"", inner[0].start_byte
    body = text[start - node.start_byte : inner[-1].end_byte - node.start_byte]
    written = []
    for number in range(len(lists[0])):
        merged = dict(bindings)
        for each in lists:
            merged |= each[number]
        written.append(_splice(body, start, inner, merged))
    return f"{separator} ".join(written)


def _metavariables(node: Node) -> list[Node]:
    found, pending = [], [node]
    while pending:
        current = pending.pop()
        pending += current.children
        found += [current] if current.type == "metavariable" else []
    return found
