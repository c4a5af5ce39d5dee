"""Macros that the tree defines: their definitions, their calls, and the items that a call makes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.lang.cfg import around
from portkit.lang.imports import brought_in
from portkit.lang.items import head_of
from portkit.lang.known_macros import MacroUse, find_use
from portkit.lang.macro_expansion import expand
from portkit.lang.renaming import code_only, normal
from portkit.lang.source import ATTACHED, Source, field_text, node_text
from portkit.lang.words import occurrences
from portkit.site.fragments import find_name, parse_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from portkit.site.context import Job

_DEFINED: Final = re.compile(rb"\bmacro_rules!\s*(?:r#)?(\w+)")
_ITEMS: Final = frozenset(
    {
        "const_item",
        "enum_item",
        "function_item",
        "function_signature_item",
        "mod_item",
        "static_item",
        "struct_item",
        "trait_item",
        "type_item",
        "union_item",
    }
)
_DEEPEST: Final = 4
"""How many macros are expanded within each other."""


def find_definitions(job: Job, name: str) -> tuple[Node, ...]:
    """Return each `macro_rules!` of the tree that defines a macro.

    Args:
        job: the job.
        name: the macro, without its path.
    """

    def parse() -> tuple[Node, ...]:
        places = _places(job).get(name, ())
        found = (_find_at(job.workspace.sources[path], at) for path, at in places)
        return tuple(node for node in found if node is not None)

    return job.once("macro definitions of", name, make=parse)


def read_definitions(source: Source, name: str) -> Iterator[Node]:
    """Yield each `macro_rules!` of a file that defines a macro.

    Args:
        source: a file in Rust.
        name: the macro, without its path.
    """
    if b"macro_rules!" not in source.data:
        return
    for match in _DEFINED.finditer(source.data):
        if match[1].decode() == name and (node := _find_at(source, match.start())) is not None:
            yield node


def is_defined(job: Job, name: str) -> bool:
    """Tell whether the tree defines a macro before the port.

    Args:
        job: the job.
        name: the macro, without its path.
    """
    return name in _places(job)


def find_calls(job: Job, name: str) -> Iterator[tuple[Source, Node]]:
    """Yield each call of a macro in the tree, with its file.

    Args:
        job: the job.
        name: the macro, without its path.
    """
    called = re.compile(rb"\b%s\s*!\s*[(\[{]" % re.escape(name.encode()))
    for source in _rust(job):
        places = [m.start() for m in called.finditer(source.data)] if b"!" in source.data else []
        root = source.tree_around(places).root_node if places else None
        for at in places:
            node = root.descendant_for_byte_range(at, at + 1) if root is not None else None
            while node is not None and node.type != "macro_invocation":
                node = node.parent
            if node is not None and find_name(node) == name:
                yield source, node


def why_not_copied(job: Job, call: Node) -> str:
    """Return why a person must write the copy of a macro call, or an empty string.

    The copy is right if both calls define items, and no item of both has the same name.

    Args:
        job: the job.
        call: the call, which the copy follows.
    """
    name, title = find_name(call), job.vendor.title
    if find_use(name) is MacroUse.ITEMS:
        return ""
    definitions = find_definitions(job, name)
    if len(definitions) != 1:
        count = "more than once" if definitions else "nowhere"
        return (
            f"this tree defines {name}! {count}, so portkit does not know what a second call does."
            f" Write the call for {title} by hand, if {title} needs one."
        )
    items = _items(job, definitions[0], call)
    if items is None:
        return (
            f"{name}! runs code, or portkit cannot tell what it defines. A second call would run"
            f" on every device. Write what {title} does here by hand."
        )
    copy = parse_call(job.rename(node_text(call)))
    definition = find_copy(job, definitions[0])
    copied = _items(job, definition, copy) if definition is not None and copy is not None else None
    if copied is None:
        return (
            f"portkit cannot tell what {job.rename(name)}! defines. Write the call for {title} by"
            " hand."
        )
    if twice := sorted(items & copied):
        return (
            f"a second call of {name}! would define {twice[0]} again. Write the call for {title}"
            " by hand, with a name of its own."
        )
    return ""


def find_copy(job: Job, definition: Node) -> Node | None:
    """Return the definition that the copy of a call reaches.

    Args:
        job: the job.
        definition: the definition that the call reaches.
    """
    name = field_text(definition, "name")
    renamed = job.rename(name)
    if renamed == name:
        return definition
    if found := find_definitions(job, renamed):
        return found[0] if len(found) == 1 else None
    source = Source("macro.rs", job.rename(node_text(definition)).encode())
    return _find_at(source, 0)


def is_definition_needed(job: Job, definition: Node) -> bool:
    """Tell whether a copy of a macro's definition is called after the port.

    Args:
        job: the job.
        definition: the definition, of a macro that is named after the source vendor.
    """
    name = field_text(definition, "name")

    def look() -> bool:
        return any(
            source.path in job.learnt.analogs
            or _is_in_copy(job, source, call)
            or (is_statement(call) and not why_not_copied(job, call))
            for source, call in find_calls(job, name)
        )

    return job.once("macro needed", name, make=look)


def is_body_code(job: Job, name: str) -> bool:
    """Tell whether each body of a macro is code that is ported in its own place.

    Args:
        job: the job.
        name: the macro.
    """
    definitions = find_definitions(job, name)
    return bool(definitions) and all(map(_has_code, definitions))


def _has_code(definition: Node) -> bool:
    source = Source("macro.rs", node_text(definition).encode())
    alone = _find_at(source, 0)
    rules = alone.named_children if alone is not None else []
    return all(
        parse_body(source, rule, {}) is not None for rule in rules if rule.type == "macro_rule"
    )


def is_statement(call: Node) -> bool:
    """Tell whether a macro call is an item or a statement, and is given no block."""
    parent = call.parent
    lists = ("declaration_list", "expression_statement", "source_file")
    return parent is not None and parent.type in lists and "{" not in code_only(node_text(call))


def parse_call(text: str) -> Node | None:
    """Parse the text of a macro call."""
    root = Source("macro.rs", f"{text};".encode()).tree.root_node
    node = root.named_children[0] if root.named_children else None
    if node is not None and node.type == "expression_statement":
        node = node.named_children[0]
    return node if node is not None and node.type == "macro_invocation" else None


def _rust(job: Job) -> Iterator[Source]:
    return (s for path, s in sorted(job.workspace.sources.items()) if path.endswith(".rs"))


def _places(job: Job) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Return where the tree defines macros, by their names."""

    def look() -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for source in _rust(job):
            for at in occurrences(source.data, b"macro_rules!"):
                if match := _DEFINED.match(source.data, at):
                    found.setdefault(match[1].decode(), []).append((source.path, at))
        return found

    return job.once("macro places", make=look)


def _find_at(source: Source, at: int) -> Node | None:
    node = source.tree_around([at]).root_node.descendant_for_byte_range(at, at + 1)
    while node is not None and node.type != "macro_definition":
        node = node.parent
    return node


def _is_in_copy(job: Job, source: Source, call: Node) -> bool:
    """Tell whether a call stands in an item that gets a copy."""
    if any(job.of_source(cfg) for cfg in around(source.tree.root_node, call.start_byte)):
        return True
    node = call.parent
    while node is not None:
        name = head_of(node) if node.type == "impl_item" else field_text(node, "name")
        if node.type != "macro_definition" and name and job.rename(name) != name:
            return True
        node = node.parent
    return False


def _items(job: Job, definition: Node, call: Node, depth: int = 0) -> frozenset[str] | None:
    """Return the names of the items that a call defines; None if it does anything else."""
    text = expand(definition, call)
    root = Source("macro.rs", text.encode()).tree.root_node if text is not None else None
    if root is None or root.has_error or depth > _DEEPEST:
        return None
    found: set[str] = set()
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "expression_statement" else node
        if inner.type == "macro_invocation":
            definitions = find_definitions(job, find_name(inner))
            more = _items(job, definitions[0], inner, depth + 1) if len(definitions) == 1 else None
            if more is None:
                return None
            found |= more
        elif (names := _names(node)) is not None:
            found |= names
        else:
            return None
    return frozenset(found)


def _names(node: Node) -> set[str] | None:
    """Return the names that an item defines; None for what is no item."""
    if node.type in ATTACHED or node.type in ("empty_statement", "macro_definition"):
        return set()
    if node.type == "use_declaration":
        return {*brought_in(node)} - {"_"}
    if node.type == "impl_item":
        head = normal(head_of(node))
        body = node.child_by_field_name("body")
        if field_text(node, "trait") or body is None:
            return {f"impl {head}"}
        return {f"{head}::{field_text(each, 'name')}" for each in body.named_children}
    if node.type in _ITEMS:
        return {field_text(node, "name")} - {"_"}
    return None
