"""Whether the counterpart of a site stands already, whoever wrote it, and where.

What has a name is told by it, and what is one of several that say the same by their order. What a
person wrote in words of their own is told by what it must have in common with a copy.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tree_sitter import Node

from portkit.context.device_queries import list_cuda_queries, list_if_chain
from portkit.context.port_job import PortJob, Site
from portkit.port.copy_item import copy_range
from portkit.port.gating import (
    write_feature_attribute,
    write_feature_condition,
    write_feature_without,
)
from portkit.port.match_facts import is_guarded, list_forbidden_features, read_match
from portkit.syntax import imports, patterns, python_nodes, toml_nodes
from portkit.syntax.cfg import find_attributes, parse_conditions
from portkit.syntax.items import CALLS, describe_impl
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import field_text, node_text, span_of
from portkit.syntax.span import Span
from portkit.syntax.value import Value

Sibling = tuple[Node, tuple[Node, ...]]

_ALIKE: Final = (
    frozenset({"function_item", "function_signature_item"}),
    frozenset({"enum_item", "struct_item", "type_item", "union_item"}),
    frozenset({"const_item", "static_item"}),
    frozenset({"decorated_definition", "function_definition"}),
)
"""Kinds of items that share their names, so that one of them is a counterpart of another."""


def read_item_name(node: Node) -> str:
    """Return the name by which a node is told from its siblings, or an empty string."""
    if node.type in ("pair", "table", "table_array_element"):
        return toml_nodes.read_entry_name(node)
    if node.type == "expression_statement":
        return python_nodes.find_assigned_name(node)
    if node.type == "shorthand_field_initializer":
        return node_text(node.named_children[-1])
    function = python_nodes.find_definition(node)
    return field_text(function or node, "name") or field_text(node, "field")


def find_counterpart(site: Site, text: str, name: str = "") -> Span | None:
    """Return the span of what stands for the written vendor where a site stands for the source."""
    own = read_item_name(site.node)
    wanted = name or site.job.vendor.names.word(own)
    # A sibling of the same name may be another vendor's.
    same = wanted == own
    if own and (not same or (site.name and site.is_cuda_only)):
        return find_sibling_named(site, wanted, gated=same)
    if site.kind == "match_arm":
        return _find_own_arm(site)
    if site.kind == "if_expression":
        return _find_step(site, text)
    gated = site.is_cuda_only
    if site.kind == "impl_item" and not site.conditions:
        return _find_implementation(site)
    if site.kind == "use_declaration":
        return site.span if has_imports(site) else None
    equal = _find_equal_sibling(site, text)
    if equal is not None or not (gated or site.kind == "expression_statement"):
        return equal
    return _find_handwritten_sibling(site, gated=gated)


def list_siblings_named(site: Site, name: str) -> Sequence[Sibling]:
    """Return what has a name among a site and its siblings, each with its attributes."""

    def index() -> dict[str, list[Sibling]]:
        found: dict[str, list[Sibling]] = {}
        for node, attributes in site.siblings:
            found.setdefault(read_item_name(node), []).append((node, attributes))
        return found

    return site.memoize("named", site.container, make=index).get(name, ())


def find_sibling_named(
    site: Site, name: str, *, without: bool | None = None, gated: bool = False
) -> Span | None:
    """Return the span of a sibling of this name that could not stand beside a copy."""
    job = site.job
    if without is None:
        without = any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions)
    kinds = next((group for group in _ALIKE if site.kind in group), {site.kind})
    for node, attributes in list_siblings_named(site, name):
        if node.type in kinds:
            conditions = [cfg for _, cfg in parse_conditions(find_attributes(node, attributes))]
            if gated and not any(map(job.cfg_requires_rocm, conditions)):
                continue
            if any(job.cfg_requires_cuda(cfg) for cfg in conditions):
                continue  # it is not there where the vendor's feature alone is on
            # What gives way to its copy stands in for nothing.
            stands_in = any(
                job.cfg_excludes_rocm(c) and not job.cfg_requires_cuda(c) for c in conditions
            )
            if stands_in is without:
                return _make_span(node, attributes)
    return None


def find_arm(site: Site, wanted: tuple[str, ...]) -> Span | None:
    """Return the arm beside a site that asks for one thing, by itself or in its pattern.

    It has a guard if the site has one.
    """
    guarded = is_guarded(site.node)
    for arm in read_match(site).arms.get(wanted, ()):
        if arm.node.id != site.node.id and arm.is_guarded is guarded:
            return span_of(arm.node)
    return None


def find_branch(site: Site) -> Span | None:
    """Return the span of the condition of a branch for the written vendor in a site's chain."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    pattern = _find_pattern(site.node)
    if pattern is not None and not job.rename_changes_code(node_text(pattern)):
        pattern = None  # the value is what asks
    asked = (
        [normalize_rust(job.rename(q)) for q in list_cuda_queries(job, condition)]
        if condition
        else []
    )
    wanted = patterns.pattern_key(job.rename(node_text(pattern))) if pattern is not None else None
    if patterns.find_let(condition, job.rename_changes_code) is not None and pattern is None:
        asked = [normalize_rust(job.rename(node_text(condition)))]  # of a chain of conditions
    for other, text, key in _read_chain(site):
        stands = key == wanted if wanted is not None else any(q in text for q in asked)
        if stands:
            return span_of(other)
    return None


def _read_chain(site: Site) -> list[tuple[Node, str, tuple[str, ...] | None]]:
    """Return each condition of a chain, its text, and what its pattern asks for if it has one."""

    def read() -> list[tuple[Node, str, tuple[str, ...] | None]]:
        found = []
        for each in list_if_chain(site):
            condition, pattern = each.child_by_field_name("condition"), _find_pattern(each)
            if condition is not None:
                key = patterns.pattern_key(node_text(pattern)) if pattern is not None else None
                found.append((condition, normalize_rust(node_text(condition)), key))
        return found

    return site.memoize("conditions", list_if_chain(site)[0].id, make=read)


def has_imports(site: Site) -> bool:
    """Whether all that an import would bring in for the written vendor is imported beside it."""
    wanted = {
        normalize_rust(site.job.rename(path)) for path in imports.find_import_paths(site.node)
    }
    beside = list_imported_paths(site)
    return all(not beside.isdisjoint((path, f"{path}as_")) for path in wanted)


def list_imported_paths(site: Site) -> frozenset[str]:
    """Return the whole path of each thing that the imports around a place bring in."""

    def read() -> frozenset[str]:
        uses = (node for node, _ in site.siblings if node.type == "use_declaration")
        return frozenset(
            normalize_rust(path) for node in uses for path in imports.find_import_paths(node)
        )

    return site.memoize("imported", site.container, make=read)


def _make_span(node: Node, attributes: Sequence[Node]) -> Span:
    return Span(attributes[0].start_byte if attributes else node.start_byte, node.end_byte)


def _find_pattern(branch: Node) -> Node | None:
    """Return the pattern of an ``if let``."""
    condition = branch.child_by_field_name("condition")
    return condition.child_by_field_name("pattern") if condition is not None else None


def _find_own_arm(site: Site) -> Span | None:
    job = site.job
    wanted = patterns.pattern_key(job.rename(field_text(site.node, "pattern")))
    own = list_forbidden_features(job, site.node)
    forbidden = job.source_feature in own
    # A copy has no such condition where ROCm takes the path of a build without the feature.
    plain = job.codebase.find_no_feature_entry(site.source.path) is not None
    guarded = is_guarded(site.node)
    for arm in read_match(site).arms.get(wanted, ()):
        # A copy of what the written vendor's feature must be off for has that condition too.
        alike = plain or job.feature in own or (job.feature in arm.forbidden) is forbidden
        if alike and arm.is_guarded is guarded and arm.node.id != site.node.id:
            return span_of(arm.node)
    return None


def _find_implementation(site: Site) -> Span | None:
    wanted = normalize_rust(site.job.rename(describe_impl(site.node)))

    def index() -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node, _ in site.siblings:
            if node.type == site.kind:
                found.setdefault(normalize_rust(describe_impl(node)), []).append(node)
        return found

    heads = site.memoize("heads", site.container, make=index)
    return next((span_of(n) for n in heads.get(wanted, ()) if n.id != site.node.id), None)


def _find_step(site: Site, copy: str) -> Span | None:
    """Return the site where its step stands in the same block too, as a copy or by hand."""
    statement = site.outer
    block = statement.outer if statement is not None else None
    if statement is None or statement.kind != "expression_statement" or block is None:
        return None
    steps = site.memoize("steps", block.node.id, make=lambda: _BlockSteps.of(site.job, block.node))
    twins = steps.by_text.get(normalize_rust(site.code), [])
    matches = [Span(at, at) for at in steps.by_text.get(normalize_rust(copy), [])]
    if _choose_counterpart(site.node.start_byte, twins, matches) is not None:
        return site.span
    wanted = patterns.pattern_key(site.job.rename(node_text(_find_pattern(site.node))))
    return site.span if wanted in steps.by_hand else None


class _BlockSteps(Value, frozen=True):
    """The statements of a block."""

    by_text: Mapping[str, list[int]]  # where those of a text begin, in order
    # what the patterns ask for of those that are no copies of another
    by_hand: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, job: PortJob, block: Node) -> _BlockSteps:
        """Return the statements of a block."""
        statements = [c for c in block.named_children if c.type == "expression_statement"]
        steps = [s.named_children[0] for s in statements if s.named_children]
        texts = [normalize_rust(node_text(s)) for s in steps]
        copies = {normalize_rust(job.rename(node_text(s))) for s in steps}
        by_text: dict[str, list[int]] = {}
        for step, text in zip(steps, texts, strict=True):
            by_text.setdefault(text, []).append(step.start_byte)
        by_hand = frozenset(
            patterns.pattern_key(node_text(pattern))
            for step, text in zip(steps, texts, strict=True)
            if text not in copies and (pattern := _find_pattern(step)) is not None
        )
        return cls(by_text, by_hand)


def _find_equal_sibling(site: Site, text: str) -> Span | None:
    """Return the span of a sibling that says the same as ``text``, layout and prose aside."""

    def index() -> dict[str, list[Span]]:
        found: dict[str, list[Span]] = {}
        for node, attributes in site.siblings:
            if node.type == site.kind:
                span = _make_span(node, attributes)
                found.setdefault(_strip_layout(site.source.slice(span), site.job), []).append(span)
        return found

    says = site.memoize("says", site.container, site.kind, make=index)
    wanted, own = _strip_layout(text, site.job), _strip_layout(site.text, site.job)
    matches = says.get(wanted, [])
    if wanted == own:
        return _choose_counterpart(
            site.start, [site.start], [m for m in matches if m.start != site.start]
        )
    return _choose_counterpart(
        site.start, [twin.start for twin in says.get(own, [])] or [site.start], matches
    )


def _find_handwritten_sibling(site: Site, *, gated: bool) -> Span | None:
    """Return the span of a sibling that a person wrote as the counterpart, in words of their own.

    It has the key of the place under the name table, and is no copy of another sibling.
    """
    job = site.job
    key: Callable[[Node], str] = _make_key if gated else _read_callee
    own = normalize_rust(key(site.node))
    wanted = normalize_rust(job.rename(key(site.node)))

    def keyed() -> _SiblingIndex:
        return _SiblingIndex.of(site, key, gated=gated)

    def pair() -> tuple[list[int], list[Span]]:
        siblings = site.memoize("keyed", site.container, site.kind, gated, make=keyed)
        return siblings.pair(site, own, wanted)

    twins, matches = site.memoize("pair", site.container, site.kind, gated, own, make=pair)
    at = bisect_left(twins, site.start)
    known = at < len(twins) and twins[at] == site.start
    return _choose_counterpart(site.start, twins, matches) if known else None


class _SiblingIndex(Value, frozen=True):
    """The siblings of one kind by what a counterpart has in common with them."""

    cuda: Mapping[str, list[tuple[Span, Node]]]  # those that may be the source vendor's
    rocm: Mapping[str, list[tuple[Span, Node]]]  # those that may be the written vendor's

    @classmethod
    def of(cls, site: Site, key: Callable[[Node], str], *, gated: bool) -> _SiblingIndex:
        """Return the siblings of a site."""
        of = (site.job.cfg_requires_cuda, site.job.cfg_requires_rocm)
        sides: tuple[dict[str, list[tuple[Span, Node]]], ...] = ({}, {})
        for node, attributes in site.siblings:
            if node.type != site.kind:
                continue
            conditions = [cfg for _, cfg in parse_conditions(attributes)]
            for side, is_of in zip(sides, of, strict=True):
                if not gated or any(map(is_of, conditions)):
                    side.setdefault(normalize_rust(key(node)), []).append(
                        (_make_span(node, attributes), node)
                    )
        return cls(*sides)

    def pair(self, site: Site, own: str, wanted: str) -> tuple[list[int], list[Span]]:
        """Return where those with a key begin, and what was written for them, copies aside."""
        job, source, symbol = site.job, site.source, site.scope.symbol
        originals = {
            span.start: _strip_layout(
                copy_range(job, source, span.start, span.end, node, symbol), job
            )
            for span, node in self.cuda.get(own, ())
        }
        # One that could be either is an original.
        written = {
            span: _strip_layout(source.slice(span), job)
            for span, _ in self.rocm.get(wanted, ())
            if span.start not in originals
        }
        alike: dict[str, tuple[list[int], list[Span]]] = {}
        for at, copy in originals.items():
            alike.setdefault(copy, ([], []))[0].append(at)
        for span, text in written.items():
            if text in alike:
                alike[text][1].append(span)
        twins = [
            at for at, copy in originals.items() if _choose_counterpart(at, *alike[copy]) is None
        ]
        return twins, [span for span, text in written.items() if text not in alike]


def _make_key(node: Node) -> str:
    """Return what a counterpart of a node has in common with it, however a person wrote it."""
    if read_item_name(node):
        return read_item_name(node)
    if node.type == "expression_statement":
        inner = node.named_children[0]
        return _read_callee(node) if inner.type in CALLS else inner.type
    fields = {"impl_item": ("trait", "type"), "let_declaration": ("pattern",)}
    return " ".join(field_text(node, field) for field in fields.get(node.type, ()))


def _read_callee(node: Node) -> str:
    """Return the path that a statement calls, or its whole text where it is no plain call."""
    inner = node.named_children[0] if node.named_children else node
    while inner.type in ("try_expression", "await_expression"):
        inner = inner.named_children[0]
    function = inner.child_by_field_name("function")
    return node_text(node if function is None else function)


def _choose_counterpart(start: int, twins: Sequence[int], matches: Sequence[Span]) -> Span | None:
    """Return the counterpart of one of several places that say the same.

    Where there is a counterpart for each, they are in the same order; otherwise a counterpart
    follows its place before the next one begins.
    """
    at = bisect_left(twins, start)
    if len(matches) >= len(twins):
        return matches[at]
    following = twins[at + 1] if at + 1 < len(twins) else None
    behind = bisect_right(matches, start, key=lambda match: match.start)
    if behind == len(matches) or (following is not None and matches[behind].start >= following):
        return None
    return matches[behind]


def _strip_layout(text: str, job: PortJob) -> str:
    bare = normalize_rust(text)
    for source, own in job.counterparts.items() if "not(" in bare else ():
        # What gives way where both features are on says the same.
        bare = bare.replace(
            normalize_rust(write_feature_without(own, source)),
            normalize_rust(write_feature_condition(own)),
        )
    bare = bare.replace(normalize_rust(write_feature_attribute(job)), "")
    return re.sub(r"^pub(\([^)]*\))?", "", bare)
