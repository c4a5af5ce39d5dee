"""Items, statements and arms among the tokens of a macro, which tree-sitter does not parse.

Grammar: the Rust reference, "Items", "Statements" and "Match expressions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from portkit.syntax.source_file import node_text

_BEFORE: Final = frozenset({"async", "default", "extern", "pub", "unsafe"})
"""Words that may begin an item before the word that names its kind."""
_WITH_BODY: Final = frozenset({"enum", "fn", "impl", "mod", "struct", "trait", "union"})
_WITHOUT_BODY: Final = frozenset({"const", "let", "static", "type", "use"})
_WITH_BLOCK: Final = frozenset({"for", "if", "loop", "match", "unsafe", "while"})


def skip_attributes(tokens: Sequence[Node], at: int) -> int:
    """Return the index of the first token after the attributes at an index."""
    while at + 1 < len(tokens) and node_text(tokens[at]) == "#" and _is_tree(tokens[at + 1], "["):
        at += 2
    return at


def find_item_end(tokens: Sequence[Node], at: int) -> int:
    """Return the index after the item, the statement or the arm that begins at a token."""
    at = skip_attributes(tokens, at)
    texts = [*map(node_text, tokens)]
    word = _find_word(tokens, at)
    if word in _WITHOUT_BODY:
        return _find_first(texts, at, ";")
    if word in _WITH_BODY:
        return _find_body(tokens, at)
    stop = next((i for i in range(at, len(texts)) if texts[i] in (",", ";")), len(texts))
    if "=>" in texts[at:stop]:
        value = texts.index("=>", at) + 1
        if value < len(tokens) and _is_tree(tokens[value], "{"):
            return value + 1 + (texts[value + 1 : value + 2] == [","])
        return _find_first(texts, at, ",")
    if texts[at : at + 1] and (texts[at] in _WITH_BLOCK or _is_tree(tokens[at], "{")):
        end = _find_body(tokens, at)
        while texts[end : end + 1] == ["else"]:
            end = _find_body(tokens, end)
        return end
    if texts[at + 1 : at + 2] == ["!"]:
        return _find_body(tokens, at)
    return min(stop + 1, len(texts))


def _find_word(tokens: Sequence[Node], at: int) -> str:
    """Return the word that names the kind of an item."""
    while at < len(tokens):
        text = node_text(tokens[at])
        after = node_text(tokens[at + 1]) if at + 1 < len(tokens) else ""
        is_modifier = text == "const" and after in ("async", "extern", "fn", "unsafe")
        if not (text in _BEFORE or is_modifier or text.startswith(("(", '"'))):
            return text
        at += 1
    return ""


def _find_body(tokens: Sequence[Node], at: int) -> int:
    """Return the index after the first braces or semicolon."""
    for number in range(at, len(tokens)):
        if _is_tree(tokens[number], "{") or node_text(tokens[number]) == ";":
            return number + 1
    return len(tokens)


def _find_first(texts: Sequence[str], at: int, text: str) -> int:
    """Return the index after the first token with a text."""
    return texts.index(text, at) + 1 if text in texts[at:] else len(texts)


def _is_tree(token: Node, bracket: str) -> bool:
    return token.type == "token_tree" and node_text(token).startswith(bracket)
