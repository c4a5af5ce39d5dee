"""Whether the counterpart of a site stands already, whoever wrote it, and where.

What has a name is told by it, and what is one of several that say the same by their order. What a
person wrote in words of their own is told by what it must have in common with a copy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.copying.analog import copy_range
from portkit.copying.gating import feature_attribute
from portkit.lang import imports, patterns, python, toml
from portkit.lang.cfg import conditions_of, parse_cfg
from portkit.lang.items import CALLS, head_of
from portkit.lang.renaming import normal
from portkit.lang.source import field_text, node_text
from portkit.lang.span import Span
from portkit.site.questions import chain_of, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from portkit.site.context import Job, Site

_ALIKE: Final = (
    frozenset({"function_item", "function_signature_item"}),
    frozenset({"enum_item", "struct_item", "type_item", "union_item"}),
    frozenset({"const_item", "static_item"}),
    frozenset({"decorated_definition", "function_definition"}),
)
"""Kinds of items that share their names, so that one of them is a counterpart of another."""


def name_of(node: Node) -> str:
    """Return the name by which a node is told from its siblings, or an empty string."""
    if node.type in ("pair", "table", "table_array_element"):
        return toml.name_of(node)
    if node.type == "expression_statement":
        return python.target(node)
    function = python.definition(node)
    return field_text(function or node, "name") or field_text(node, "field")


def counterpart(site: Site, text: str, name: str = "") -> Span | None:
    """Return the span of what stands for the written vendor where a site stands for the source.

    Args:
        site: the site.
        text: the copy that would be written.
        name: the name of the copy, where the name table does not give it.
    """
    own = name_of(site.node)
    wanted = name or site.job.vendor.names.word(own)
    # A sibling of the same name may be another vendor's.
    same = wanted == own
    if own and (not same or (site.name and site.is_source)):
        return named_sibling(site, wanted, gated=same)
    if site.kind == "match_arm":
        return _arm(site)
    if site.kind == "if_expression":
        return _step(site, text)
    gated = site.is_source
    if site.kind == "impl_item" and not site.conditions:
        return _implementation(site)
    if site.kind == "use_declaration":
        return site.span if imports_stand(site) else None
    equal = _equal_sibling(site, text)
    if equal is not None or not (gated or site.kind == "expression_statement"):
        return equal
    return _by_hand(site, gated=gated)


def named_sibling(
    site: Site, name: str, *, without: bool | None = None, gated: bool = False
) -> Span | None:
    """Return the span of a sibling of this name that could not stand beside a copy.

    Args:
        site: the place.
        name: the name.
        without: whether to look for what stands in where the written vendor's feature is off, which
            is a counterpart only of what stands in where the source's is; by default as the site.
        gated: whether it must stand under the written vendor's feature.
    """
    job = site.job
    if without is None:
        without = any(job.without_source(cfg) for _, cfg in site.conditions)
    kinds = next((group for group in _ALIKE if site.kind in group), {site.kind})
    for node, attributes in site.siblings:
        if node.type in kinds and name_of(node) == name:
            conditions = [cfg for _, cfg in conditions_of(attributes)]
            if gated and not any(cfg.requires(job.feature) for cfg in conditions):
                continue
            # What gives way to its copy stands in for nothing.
            stands_in = any(c.forbids(job.feature) and not job.of_source(c) for c in conditions)
            if stands_in is without:
                return _span(node, attributes)
    return None


def arm_on(site: Site, wanted: tuple[str, ...]) -> bool:
    """Whether an arm beside a site asks for one thing, by itself or as a member of its pattern."""
    return any(
        patterns.key(node_text(m)) == wanted
        for arm, _ in site.peers
        if (pattern := arm.child_by_field_name("pattern")) is not None
        for m in (pattern, *patterns.members(pattern))
    )


def branch(site: Site) -> Span | None:
    """Return the span of the condition of a branch for the written vendor in a site's chain."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    pattern = _pattern_of(site.node)
    asked = [normal(job.rename(q)) for q in questions(job, condition)] if condition else []
    wanted = patterns.key(job.rename(node_text(pattern))) if pattern is not None else None
    for each in chain_of(site.node):
        other = each.child_by_field_name("condition")
        if other is None:
            continue
        asks = _pattern_of(each)
        if wanted is not None:
            stands = asks is not None and patterns.key(node_text(asks)) == wanted
        else:
            stands = any(question in normal(node_text(other)) for question in asked)
        if stands:
            return Span(other.start_byte, other.end_byte)
    return None


def imports_stand(site: Site) -> bool:
    """Whether all that an import would bring in for the written vendor is imported beside it."""
    wanted = {normal(site.job.rename(path)) for path in imports.paths(site.node)}
    return wanted <= imported_beside(site)


def imported_beside(site: Site) -> frozenset[str]:
    """Return the whole path of each thing that the imports around a place bring in."""
    return frozenset(
        normal(path)
        for node, _ in site.siblings
        if node.type == "use_declaration"
        for path in imports.paths(node)
    )


def _span(node: Node, attributes: Sequence[Node]) -> Span:
    return Span(attributes[0].start_byte if attributes else node.start_byte, node.end_byte)


def _pattern_of(branch: Node) -> Node | None:
    """Return the pattern of an ``if let``."""
    condition = branch.child_by_field_name("condition")
    return condition.child_by_field_name("pattern") if condition is not None else None


def _arm(site: Site) -> Span | None:
    pattern = site.node.child_by_field_name("pattern")
    job = site.job
    wanted = patterns.key(job.rename(node_text(pattern)))
    forbidden = _forbids(site.node, job.source_feature)
    guarded = _is_guarded(pattern)
    for arm, _ in site.peers:
        other = arm.child_by_field_name("pattern")
        if other is None or _forbids(arm, job.feature) != forbidden:
            continue
        if _is_guarded(other) != guarded:
            continue
        if any(patterns.key(node_text(m)) == wanted for m in (other, *patterns.members(other))):
            return Span(arm.start_byte, arm.end_byte)
    return None


def _is_guarded(pattern: Node | None) -> bool:
    return pattern is not None and pattern.child_by_field_name("condition") is not None


def _forbids(arm: Node, feature: str) -> bool:
    for child in arm.children:
        if child.type == "attribute_item":
            cfg = parse_cfg(node_text(child))
            if cfg is not None and cfg.forbids(feature):
                return True
    return False


def _implementation(site: Site) -> Span | None:
    wanted = normal(site.job.rename(head_of(site.node)))
    return next((_span(n, ()) for n, _ in site.peers if normal(head_of(n)) == wanted), None)


def _step(site: Site, copy: str) -> Span | None:
    """Return the site where its step stands in the same block too, as a copy or by hand."""
    statement = site.node.parent
    block = statement.parent if statement is not None else None
    if statement is None or statement.type != "expression_statement" or block is None:
        return None
    steps = [c.named_children[0] for c in block.named_children if c.type == statement.type]
    texts = {s.start_byte: normal(node_text(s)) for s in steps}
    twins = [at for at, text in texts.items() if text == normal(site.code)]
    matches = [Span(at, at) for at, text in texts.items() if text == normal(copy)]
    if _one_of(site.node.start_byte, twins, matches) is not None:
        return site.span
    copies = {normal(site.job.rename(node_text(s))) for s in steps}
    wanted = patterns.key(site.job.rename(node_text(_pattern_of(site.node))))
    by_hand = any(
        (pattern := _pattern_of(s)) is not None
        and patterns.key(node_text(pattern)) == wanted
        and texts[s.start_byte] not in copies
        for s in steps
    )
    return site.span if by_hand else None


def _equal_sibling(site: Site, text: str) -> Span | None:
    """Return the span of a sibling that says the same as ``text``, layout and prose aside."""
    wanted, own = _essence(text, site.job), _essence(site.text, site.job)
    twins, matches = [site.start], []
    for node, attributes in site.peers:
        span = _span(node, attributes)
        essence = _essence(site.source.slice(span), site.job)
        if essence == wanted:
            matches.append(span)
        elif essence == own:
            twins.append(span.start)
    return _one_of(site.start, sorted(twins), matches)


def _by_hand(site: Site, *, gated: bool) -> Span | None:
    """Return the span of a sibling that a person wrote as the counterpart, in words of their own.

    It has the key of the place under the name table, and is no copy of another sibling.

    Args:
        site: the place.
        gated: whether the place stands under the source vendor's feature.
    """
    job, source = site.job, site.source
    key: Callable[[Node], str] = _key if gated else _callee
    own = normal(key(site.node))
    wanted = normal(job.rename(key(site.node)))
    originals: dict[int, str] = {}
    written: dict[Span, str] = {}
    for node, attributes in site.siblings:
        if node.type != site.kind:
            continue
        span = _span(node, attributes)
        conditions = [cfg for _, cfg in conditions_of(attributes)]
        of_source = any(map(job.of_source, conditions)) or not gated
        of_vendor = any(c.requires(job.feature) for c in conditions) or not gated
        found = normal(key(node))
        if found == own and of_source:
            copy = copy_range(job, source, span.start, span.end, node, site.scope.symbol)
            originals[span.start] = _essence(copy, job)
        elif found == wanted and of_vendor:
            written[span] = _essence(source.slice(span), job)
    twins = [at for at, copy in originals.items() if copy not in written.values()]
    matches = [span for span, text in written.items() if text not in originals.values()]
    return _one_of(site.start, twins, matches) if site.start in twins else None


def _key(node: Node) -> str:
    """Return what a counterpart of a node has in common with it, however a person wrote it."""
    if name_of(node):
        return name_of(node)
    if node.type == "expression_statement":
        inner = node.named_children[0]
        return _callee(node) if inner.type in CALLS else inner.type
    fields = {"impl_item": ("trait", "type"), "let_declaration": ("pattern",)}
    return " ".join(field_text(node, field) for field in fields.get(node.type, ()))


def _callee(node: Node) -> str:
    """Return the path that a statement calls, or its whole text where it is no plain call."""
    inner = node.named_children[0] if node.named_children else node
    while inner.type in ("try_expression", "await_expression"):
        inner = inner.named_children[0]
    function = inner.child_by_field_name("function")
    return node_text(node if function is None else function)


def _one_of(start: int, twins: Sequence[int], matches: Sequence[Span]) -> Span | None:
    """Return the counterpart of one of several places that say the same.

    Where there is a counterpart for each, they are in the same order; otherwise a counterpart
    follows its place before the next one begins.

    Args:
        start: where the place begins.
        twins: where each of the places begins, this one included, sorted.
        matches: the spans of all counterparts, in order.
    """
    if len(matches) >= len(twins):
        return matches[twins.index(start)]
    following = next((twin for twin in twins if twin > start), None)
    return next(
        (m for m in matches if m.start > start and (following is None or m.start < following)), None
    )


def _essence(text: str, job: Job) -> str:
    bare = normal(text).replace(normal(feature_attribute(job)), "")
    return re.sub(r"^pub(\([^)]*\))?", "", bare)
