"""Conditions of Rust's conditional compilation, as far as a port needs them.

Grammar: the Rust reference, chapter "Conditional compilation": ``all(..)``, ``any(..)``,
``not(..)``, ``true``, ``false`` and options such as ``feature = "cuda"``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile

from tree_sitter import Node

from portkit.syntax.source_file import COMMENTS, group_attributes, node_text
from portkit.syntax.value import Value

FIELD_VALUES = frozenset({"field_initializer", "shorthand_field_initializer"})
"""Nodes that give a field its value where a struct is made."""
ITEMS_WITH_INNER_ATTRIBUTES = FIELD_VALUES | {"match_arm"}
"""Nodes whose attributes tree-sitter-rust makes children of theirs, not siblings."""
_WITH_INNER = frozenset({"foreign_mod_item", "function_item", "impl_item", "mod_item"})
"""Items whose body may begin with attributes of the item, `#![cfg(..)]` (the Rust reference,
"Attributes")."""
_TOKEN = re.compile(r'\s*(all|any|not)\s*\(|\s*(\))|\s*(,)|\s*([A-Za-z_]\w*(?:\s*=\s*"[^"]*")?)')
_PART = re.compile(r'(\w+)!?\s*\(|\)|feature\s*=\s*"([^"]*)"')
_FEATURE = re.compile(r'feature\s*=\s*"([^"]*)"')
# `true` holds as `all()` does, and `false` no more than `any()`.
_CONSTANTS = {"true": "all", "false": "any"}
_DEEPEST = 60  # How many operators may stand in each other; a codebase has three.
_CFG_ATTR = re.compile(r"^#\[\s*cfg_attr\s*\((.*)\)\s*\]$", re.DOTALL)
# A string holds no marks.
_MARK = re.compile(r'"[^"]*"|[(),]')
_CFG = re.compile(r"^#!?\[\s*cfg\s*\((.*)\)\s*\]$", re.DOTALL)


class Cfg(Value, frozen=True):
    """A condition: an option, or an operator over conditions."""

    operator: str
    operands: tuple[Cfg, ...] = ()
    feature: str = ""

    def requires(self, feature: str) -> bool:
        """Whether the condition holds only if the feature is on."""
        if self.operator == "all":
            return any(o.requires(feature) for o in self.operands)
        if self.operator == "any":
            return bool(self.operands) and all(o.requires(feature) for o in self.operands)
        return self.operator == "" and self.feature == feature

    def forbids(self, feature: str) -> bool:
        """Whether the condition holds only if the feature is off."""
        if self.operator == "all":
            return any(o.forbids(feature) for o in self.operands)
        if self.operator == "not":
            inner = self.operands[0]
            members = inner.operands if inner.operator == "any" else (inner,)
            return any(m.operator == "" and m.feature == feature for m in members)
        return False

    def features(self) -> frozenset[str]:
        """Return every feature that the condition names."""
        if self.operator == "":
            return frozenset({self.feature} - {""})
        return frozenset().union(*(o.features() for o in self.operands))

    def without(self, features: frozenset[str]) -> bool | None:
        """Evaluate with ``features`` off: true, false, or None if the rest decides."""
        if self.operator == "":
            return False if self.feature in features else None
        values = [o.without(features) for o in self.operands]
        if self.operator == "not":
            return None if values[0] is None else not values[0]
        decisive = self.operator == "any"
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def holds(self, on: Collection[str]) -> bool:
        """Evaluate with some features on and all others off; other options are on."""
        if self.operator == "":
            return not self.feature or self.feature in on
        values = [o.holds(on) for o in self.operands]
        if self.operator == "not":
            return not values[0]
        return all(values) if self.operator == "all" else any(values)


def parse_cfg(attribute: str) -> Cfg | None:
    """Parse an attribute such as ``#[cfg(all(unix, feature = "cuda"))]``.

    Returns:
        The condition, or none where the attribute is no ``cfg``, is malformed or nested too deep.
    """
    match = _CFG.match(attribute.strip())
    if match is None:
        return None
    stack: list[tuple[str, list[Cfg]]] = [("", [])]
    text, at, after_operand = match.group(1), 0, False
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            if text[at:].strip():
                return None
            break
        at = token.end()
        operator, close, comma, option = token.groups()
        if bool(comma) is not after_operand and not close:
            return None
        after_operand = not (comma or operator)
        if operator:
            if len(stack) > _DEEPEST:
                return None
            stack.append((operator, []))
        elif close:
            if len(stack) == 1:
                return None
            name, operands = stack.pop()
            if name == "not" and len(operands) != 1:
                return None
            stack[-1][1].append(Cfg(name, tuple(operands)))
        elif option in _CONSTANTS:
            stack[-1][1].append(Cfg(_CONSTANTS[option]))
        elif option:
            feature = _FEATURE.match(option)
            stack[-1][1].append(Cfg("", (), feature.group(1) if feature else ""))
    if len(stack) != 1 or len(stack[0][1]) != 1:
        return None
    return stack[0][1][0]


def drop_features(attribute: str, off: Collection[str]) -> str:
    """Return an attribute without the operands that some features decide, which are off.

    ``#[cfg(all(feature = "cuda", not(feature = "cudnn")))]`` without ``cudnn`` asks for ``cuda``.

    Args:
        attribute: a condition that the features do not decide as a whole.
        off: the features.
    """
    match = _CFG.match(attribute.strip())
    if match is None or parse_cfg(attribute) is None:
        return attribute
    text, at = match[1], 0
    stack: list[tuple[str, list[tuple[str, bool | None]]]] = [("all", [])]
    while at < len(text) and (token := _TOKEN.match(text, at)) is not None:
        at = token.end()
        operator, close, _, option = token.groups()
        if operator:
            stack.append((operator, []))
        elif close:
            name, operands = stack.pop()
            stack[-1][1].append(_join(name, operands))
        elif option:
            feature = _FEATURE.match(option)
            is_off = feature is not None and feature[1] in off
            stack[-1][1].append((option, False if is_off else None))
    left, value = _join(*stack[0])
    return attribute if value is not None else attribute.replace(text, left, 1)


def _join(operator: str, operands: list[tuple[str, bool | None]]) -> tuple[str, bool | None]:
    """Return the text of an operator over operands, and its value if they decide it."""
    if operator == "not":
        text, value = operands[0]
        return f"not({text})", None if value is None else not value
    decisive = operator == "any"
    left = [text for text, value in operands if value is None]
    if not left or any(value is decisive for _, value in operands):
        return "", decisive if any(value is decisive for _, value in operands) else not decisive
    if len(left) == 1:
        return left[0], None
    return f"{operator}({', '.join(left)})", None


def parse_cfg_attr(text: str) -> tuple[Cfg | None, str]:
    """Parse the condition of ``#[cfg_attr(feature = "cuda", allow(..))]``.

    Returns:
        The condition, or none where the attribute is no ``cfg_attr``, and what stands behind it.
    """
    match = _CFG_ATTR.match(text.strip())
    if match is None:
        return None, ""
    inside, depth = match[1], 0
    for mark in _MARK.finditer(inside):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == "," and not depth:
            return parse_cfg(f"#[cfg({inside[: mark.start()]})]"), inside[mark.end() :].strip()
    return None, ""


def parse_cfg_macro(call: str) -> Cfg | None:
    """Parse a call such as ``cfg!(feature = "cuda")``; see `parse_cfg`."""
    return parse_cfg(f"#[{call.replace('!', '', 1)}]") if call.startswith("cfg!") else None


def widen_condition(text: str, feature: str, other: str) -> str:
    """Return a condition that accepts ``other`` wherever it required only ``feature``."""
    out: list[str] = []
    operators, at = [""], 0
    for part in _PART.finditer(text):
        if part.group(1):
            operators.append(part.group(1))
        elif part.group() == ")":
            operators[1:] = operators[1:-1]
        elif part.group(2) == feature:
            both = f'{part.group()}, feature = "{other}"'
            out += [text[at : part.start()], both if operators[-1] == "any" else f"any({both})"]
            at = part.end()
    return "".join([*out, text[at:]])


def find_attributes(node: Node, before: Iterable[Node]) -> Iterator[Node]:
    """Yield the attributes of a node: those before it, and those inside it."""
    yield from before
    if node.type in ITEMS_WITH_INNER_ATTRIBUTES:
        yield from (c for c in node.children if c.type == "attribute_item")
    elif node.type in _WITH_INNER and (body := node.child_by_field_name("body")) is not None:
        yield from takewhile(_is_inner, body.named_children)


def _is_inner(node: Node) -> bool:
    return node.type == "inner_attribute_item" or node.type in COMMENTS


def parse_conditions(attributes: Iterable[Node]) -> tuple[tuple[Node, Cfg], ...]:
    """Parse the ``cfg`` attributes among ``attributes``."""
    found = []
    for attribute in attributes:
        if attribute.type in ("attribute_item", "inner_attribute_item"):
            cfg = parse_cfg(node_text(attribute))
            if cfg is not None:
                found.append((attribute, cfg))
    return tuple(found)


def find_conditions_around(root: Node, offset: int) -> Iterator[Cfg]:
    """Yield the conditions of the code at an offset, the outer ones first."""
    node: Node | None = root
    while node is not None:
        inner = ((c, a) for c, a in group_attributes(node) if c.start_byte <= offset < c.end_byte)
        node, attached = next(inner, (None, ()))
        if node is not None:
            yield from (cfg for _, cfg in parse_conditions(find_attributes(node, attached)))
