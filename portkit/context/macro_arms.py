"""Arms of a `match` among the arguments of the tree's own macros."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.context.macro_fragments import find_macro_name
from portkit.context.macro_items import find_definitions, is_defined, parse_call
from portkit.syntax.macro_expansion import expand_macro, find_repeated
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import COMMENTS, SourceFile, find_descendants, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from portkit.context.port_job import PortJob, Site

    Matches = tuple[tuple[str, ...], ...]

_ENDS: Final = frozenset({",", ";"})


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
    text, at = site.source.text(call.start_byte, arm.span.end), call.end_byte
    longer = parse_call(f"{text} {arm.separator} {copy}{site.source.text(arm.span.end, at)}")
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
