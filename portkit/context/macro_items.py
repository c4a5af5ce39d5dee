"""Macros that the tree defines: their definitions, their calls, and the items that a call makes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tree_sitter import Node

from portkit.context.macro_fragments import find_macro_name, parse_body
from portkit.context.port_job import PortJob, Site
from portkit.syntax.cfg import find_conditions_around
from portkit.syntax.imports import find_imported_names
from portkit.syntax.items import describe_impl
from portkit.syntax.known_macros import MacroUse, find_use
from portkit.syntax.macro_expansion import expand_macro, find_repeated
from portkit.syntax.name_table import normalize_rust, strip_comments_and_strings
from portkit.syntax.source_file import (
    ATTACHED,
    COMMENTS,
    SourceFile,
    field_text,
    find_descendants,
    node_text,
)
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import find_occurrences

Matches = tuple[tuple[str, ...], ...]


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


def find_definitions(job: PortJob, name: str) -> tuple[Node, ...]:
    """Return each `macro_rules!` of the tree that defines a macro."""

    def parse() -> tuple[Node, ...]:
        places = _index_macros(job).get(name, ())
        found = (_find_at(job.workspace.sources[path], at) for path, at in places)
        return tuple(node for node in found if node is not None)

    return job.memoize("macro definitions of", name, make=parse)


def read_definitions(source: SourceFile, name: str) -> Iterator[Node]:
    """Yield each `macro_rules!` of a file that defines a macro."""
    if b"macro_rules!" not in source.data:
        return
    for match in _DEFINED.finditer(source.data):
        if match[1].decode() == name and (node := _find_at(source, match.start())) is not None:
            yield node


def is_defined(job: PortJob, name: str) -> bool:
    """Tell whether the tree defines a macro before the port."""
    return name in _index_macros(job)


def find_calls(job: PortJob, name: str) -> Iterator[tuple[SourceFile, Node]]:
    """Yield each call of a macro in the tree, with its file."""
    wanted = name.encode()
    called = re.compile(rb"\b%s\s*!\s*[(\[{]" % re.escape(wanted))
    for source in _read_rust(job):
        places = [m.start() for m in called.finditer(source.data)] if wanted in source.data else []
        root = source.tree_around(places).root_node if places else None
        for at in places:
            node = root.descendant_for_byte_range(at, at + 1) if root is not None else None
            while node is not None and node.type != "macro_invocation":
                node = node.parent
            if node is not None and find_macro_name(node) == name:
                yield source, node


def explain_uncopied_call(job: PortJob, call: Node) -> str:
    """Return why a person must write the copy of a macro call, or an empty string.

    The copy is right if both calls define items, and no item of both has the same name.
    """
    name, title = find_macro_name(call), job.vendor.title
    if find_use(name) is MacroUse.ITEMS:
        return ""
    definitions = find_definitions(job, name)
    if len(definitions) != 1:
        count = "more than once" if definitions else "nowhere"
        return (
            f"this tree defines {name}! {count}, so portkit does not know what a second call does."
            f" Write the call for {title} by hand, if {title} needs one."
        )
    items = _find_items(job, definitions[0], call)
    if items is None:
        return (
            f"{name}! runs code, or portkit cannot tell what it defines. A second call would run"
            f" on every device. Write what {title} does here by hand."
        )
    copy = parse_call(job.rename(node_text(call)))
    definition = find_copy(job, definitions[0])
    copied = (
        _find_items(job, definition, copy) if definition is not None and copy is not None else None
    )
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


def find_copy(job: PortJob, definition: Node) -> Node | None:
    """Return the definition that the copy of a call reaches."""
    name = field_text(definition, "name")
    renamed = job.rename(name)
    if renamed == name:
        return definition
    if found := find_definitions(job, renamed):
        return found[0] if len(found) == 1 else None
    source = SourceFile("macro.rs", job.rename(node_text(definition)).encode())
    return _find_at(source, 0)


def is_definition_needed(job: PortJob, definition: Node) -> bool:
    """Tell whether a copy of a macro's definition is called after the port."""
    name = field_text(definition, "name")

    def look() -> bool:
        return any(
            source.path in job.tree_facts.copied_files
            or _is_in_copy(job, source, call)
            or (is_statement(call) and not explain_uncopied_call(job, call))
            for source, call in find_calls(job, name)
        )

    return job.memoize("macro needed", name, make=look)


def is_body_code(job: PortJob, name: str) -> bool:
    """Tell whether each body of a macro is code that is ported in its own place."""
    definitions = find_definitions(job, name)
    return bool(definitions) and all(map(_has_code, definitions))


def _has_code(definition: Node) -> bool:
    source = SourceFile("macro.rs", node_text(definition).encode())
    alone = _find_at(source, 0)
    rules = alone.named_children if alone is not None else []
    return all(
        parse_body(source, rule, {}) is not None for rule in rules if rule.type == "macro_rule"
    )


def is_statement(call: Node) -> bool:
    """Tell whether a macro call is an item or a statement, and is given no block."""
    parent = call.parent
    lists = ("declaration_list", "expression_statement", "source_file")
    return (
        parent is not None
        and parent.type in lists
        and "{" not in strip_comments_and_strings(node_text(call))
    )


def parse_call(text: str) -> Node | None:
    """Parse the text of a macro call."""
    root = SourceFile("macro.rs", f"{text};".encode()).tree.root_node
    node = root.named_children[0] if root.named_children else None
    if node is not None and node.type == "expression_statement":
        node = node.named_children[0]
    return node if node is not None and node.type == "macro_invocation" else None


def _read_rust(job: PortJob) -> Iterator[SourceFile]:
    return (s for path, s in sorted(job.workspace.sources.items()) if path.endswith(".rs"))


def _index_macros(job: PortJob) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Return where the tree defines macros, by their names."""

    def look() -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for source in _read_rust(job):
            for at in find_occurrences(source.data, b"macro_rules!"):
                if match := _DEFINED.match(source.data, at):
                    found.setdefault(match[1].decode(), []).append((source.path, at))
        return found

    return job.memoize("macro places", make=look)


def _find_at(source: SourceFile, at: int) -> Node | None:
    node = source.tree_around([at]).root_node.descendant_for_byte_range(at, at + 1)
    while node is not None and node.type != "macro_definition":
        node = node.parent
    return node


def _is_in_copy(job: PortJob, source: SourceFile, call: Node) -> bool:
    """Tell whether a call stands in an item that gets a copy."""
    if any(
        job.cfg_requires_cuda(cfg)
        for cfg in find_conditions_around(source.tree.root_node, call.start_byte)
    ):
        return True
    node = call.parent
    while node is not None:
        name = describe_impl(node) if node.type == "impl_item" else field_text(node, "name")
        if node.type != "macro_definition" and name and job.rename(name) != name:
            return True
        node = node.parent
    return False


def _find_items(
    job: PortJob, definition: Node, call: Node, depth: int = 0
) -> frozenset[str] | None:
    """Return the names of the items that a call defines; None if it does anything else."""
    text = expand_macro(definition, call)
    root = SourceFile("macro.rs", text.encode()).tree.root_node if text is not None else None
    if root is None or root.has_error or depth > _DEEPEST:
        return None
    found: set[str] = set()
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "expression_statement" else node
        if inner.type == "macro_invocation":
            definitions = find_definitions(job, find_macro_name(inner))
            more = (
                _find_items(job, definitions[0], inner, depth + 1)
                if len(definitions) == 1
                else None
            )
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
        return {*find_imported_names(node)} - {"_"}
    if node.type == "impl_item":
        head = normalize_rust(describe_impl(node))
        body = node.child_by_field_name("body")
        if field_text(node, "trait") or body is None:
            return {f"impl {head}"}
        return {f"{head}::{field_text(each, 'name')}" for each in body.named_children}
    if node.type in _ITEMS:
        return {field_text(node, "name")} - {"_"}
    return None


_ENDS: Final = frozenset({",", ";"})
_NAMES: Final = ("identifier", "type_identifier")


class MacroArm(Value, frozen=True):
    """Tokens of a call that are an arm for the source vendor, or look like one."""

    span: Span  # the tokens
    separator: str  # the token before a further arm
    pattern: str = ""  # the tokens before the arrow; empty if there is none


def find_arms(site: Site, call: Node) -> tuple[tuple[MacroArm, int], ...]:
    """Return the arms for the source vendor in a call, and `count_copies` of each."""
    return site.memoize(
        "macro arms", call.start_byte, make=lambda: tuple(_look_for_arms(site, call))
    )


def count_copies(site: Site, call: Node, arm: MacroArm, copy: str) -> int:
    """Return how often each `match` of a call has the copy of an arm if portkit adds it once.

    0 if that is not certain, or if anything else of a `match` differs.
    """
    longer = _parse_with_copy(site, call, arm, copy)
    if longer is None:
        return 0
    counts: set[int | None] = set()
    for definition in find_definitions(site.job, find_macro_name(call)):
        before = _find_matches(expand_macro(definition, call))
        after = _find_matches(expand_macro(definition, longer))
        if before is None or after is None or len(before) != len(after):
            return 0
        counts |= {_count_new(site.job, *each) for each in zip(before, after, strict=True)}
    counts.discard(None)
    return counts.pop() or 0 if len(counts) == 1 else 0


def is_gated(site: Site, call: Node, arm: MacroArm, copy: str) -> bool:
    """Tell whether a condition holds for everything that a call writes of the copy of an arm.

    The copy, with the condition, is added behind the arm.
    """
    job, longer = site.job, _parse_with_copy(site, call, arm, copy)
    if longer is None:
        return False
    for definition in find_definitions(job, find_macro_name(call)):
        text = f"fn f() {{ {expand_macro(definition, longer)} }}".replace("# [", "#[")
        root = SourceFile("macro.rs", text.encode()).tree.root_node
        named = (each for kind in _NAMES for each in find_descendants(root, kind))
        places = [each.start_byte for each in named if job.mentions_rocm(node_text(each))]
        if not all(
            any(map(job.cfg_requires_rocm, find_conditions_around(root, at))) for at in places
        ):
            return False
    return True


def _look_for_arms(site: Site, call: Node) -> Iterator[tuple[MacroArm, int]]:
    job, done = site.job, list[Span]()
    if not is_defined(job, find_macro_name(call)) or not job.rename_changes_code(node_text(call)):
        return
    definitions = find_definitions(job, find_macro_name(call))
    may_match = any(_find_matches(expand_macro(each, call)) != () for each in definitions)
    for arm in _find_candidates(site, call):
        if any(arm.span.start < span.end and span.start < arm.span.end for span in done):
            continue
        count = count_copies(site, call, arm, job.rename(site.source.slice(arm.span)))
        if count or (arm.pattern and may_match):
            yield arm, count
            done.append(arm.span)


def _parse_with_copy(site: Site, call: Node, arm: MacroArm, copy: str) -> Node | None:
    """Parse a call with a text behind one of its arms."""
    text, at = site.source.text(call.start_byte, arm.span.end), call.end_byte
    return parse_call(f"{text} {arm.separator} {copy}{site.source.text(arm.span.end, at)}")


def _find_candidates(site: Site, call: Node) -> list[MacroArm]:
    """Return the tokens for the source vendor that may be an arm.

    Those that a rule repeats come before those that only look like an arm, inner before outer ones.
    """
    found = {
        MacroArm(Span(each.start, each.end), each.separator)
        for definition in find_definitions(site.job, find_macro_name(call))
        for each in find_repeated(definition, call)
    }
    repeated = sorted(found, key=lambda arm: (arm.span.end - arm.span.start, arm.span))
    job, source = site.job, site.source
    return [
        *(arm for arm in repeated if job.rename_changes_code(source.slice(arm.span))),
        *(arm for arm in _find_arrows(source, call) if job.rename_changes_code(arm.pattern)),
    ]


def _find_arrows(source: SourceFile, call: Node) -> Iterator[MacroArm]:
    """Yield the tokens around each arrow of a call, at any depth, outer before inner ones."""
    trees = [*find_descendants(call, "token_tree")]
    for tree in trees:
        trees += [child for child in tree.children if child.type == "token_tree"]
        group: list[Node] = []
        for token in tree.children[1:]:
            text, is_last = node_text(token), token.type in (")", "]", "}")
            is_block = text.startswith("{") and bool(group) and node_text(group[-1]) == "=>"
            if not is_last and text not in _ENDS and token.type not in COMMENTS:
                group.append(token)
            if is_last or text in _ENDS or is_block:
                separator = text if text in _ENDS else "," * (not is_block)
                if arm := _read_arm(source, group, separator):
                    yield arm
                group = []


def _read_arm(source: SourceFile, tokens: Sequence[Node], separator: str) -> MacroArm | None:
    """Return the tokens as an arm; None if they have no arrow."""
    arrow = next((each for each in tokens if node_text(each) == "=>"), None)
    if arrow is None or arrow == tokens[0]:
        return None
    first = 0
    while node_text(tokens[first]) == "#" and tokens[first + 1].type == "token_tree":
        first += 2
    span = Span(tokens[0].start_byte, tokens[-1].end_byte)
    return MacroArm(span, separator, source.text(tokens[first].start_byte, arrow.start_byte))


def _count_new(job: PortJob, before: Sequence[str], after: Sequence[str]) -> int | None:
    """Return how often a list of patterns has the copy of one of them that it gains.

    None if it gains nothing, 0 if it differs in anything else.
    """
    old, new = Counter(map(normalize_rust, before)), Counter(map(normalize_rust, after))
    gained = new - old
    if old == new:
        return None
    copies = {normalize_rust(job.rename(each)) for each in before if job.rename_changes_code(each)}
    if old - new or gained.total() != 1 or not gained.keys() <= copies:
        return 0
    return sum(new[each] for each in gained)


def _find_matches(text: str | None) -> Matches | None:
    """Return the patterns of each `match` of a text that is in no other one; None if uncertain."""
    root = SourceFile("macro.rs", f"fn f() {{ {text} }}".encode()).tree.root_node
    if text is None or root.has_error:
        return None
    return tuple(
        tuple(
            node_text(arm.child_by_field_name("pattern"))
            for arm in block.named_children
            if arm.type == "match_arm"
        )
        for block in find_descendants(root, "match_block")
    )
