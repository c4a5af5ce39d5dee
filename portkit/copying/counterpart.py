"""What several rules write and ask: insertions, gates, and whether the counterpart stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.lang.cfg import conditions_of
from portkit.lang.renaming import code_only, normal
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.site.context import Gating
from portkit.tree.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tree_sitter import Node

    from portkit.profile.entries import Exclusive
    from portkit.site.context import Job, Site

SPACED = frozenset(
    {
        "enum_item",
        "function_item",
        "impl_item",
        "macro_definition",
        "struct_item",
        "trait_item",
        "union_item",
    }
)
"""Items that a blank line sets off from their neighbours."""
ALIKE = (
    frozenset({"function_item", "function_signature_item"}),
    frozenset({"enum_item", "struct_item", "type_item", "union_item"}),
    frozenset({"const_item", "static_item"}),
)
"""Kinds of items that share their names, so that one of them is a counterpart of another."""
COMMA_AFTER = frozenset({"enum_variant", "field_declaration", "field_initializer"})
"""Members of lists whose comma is a sibling of theirs."""


def insertion(site: Site, text: str) -> Edit:
    """Return the edit that sets ``text`` after a place, as its next sibling."""
    end = site.node.end_byte
    if site.kind in COMMA_AFTER:
        comma = re.compile(rb"\s*,").match(site.source.data, end)
        if comma is None:
            return Edit(end, end, f",\n{site.indent}{text}")
        end = site.source.line_tail(comma.end())
        return Edit(end, end, f"\n{site.indent}{text},")
    if site.kind == "match_arm":
        separator = "" if site.code.rstrip().endswith((",", "}")) else ","
        end = site.source.line_tail(end)
        return Edit(end, end, f"{separator}\n{site.indent}{text}")
    if site.kind == "macro_invocation":
        semicolon = re.compile(rb";").match(site.source.data, end)
        end = semicolon.end() if semicolon else end
        text += ";" if semicolon else ""
    end = site.source.line_tail(end)
    multiline = site.kind in SPACED or (site.kind == "mod_item" and "{" in site.code)
    plain = site.code.endswith(";") and not site.attributes
    gap = "\n\n" if multiline and not plain else "\n"
    return Edit(end, end, f"{gap}{site.indent}{text}")


def feature_attribute(job: Job) -> str:
    """Return the attribute that stands over code that exists only with the feature on."""
    return f'#[cfg(feature = "{job.vendor.name}")]'


def gated(site: Site, text: str) -> str:
    """Set the feature's attribute over a copy, where the gating asks for it.

    With ``--gating dummy`` every name exists in every build and nothing is gated. A copy that
    already carries the feature, or stands in something that does, needs no second one.
    """
    job = site.job
    if job.gating is Gating.DUMMY or site.scope.gated or site.requires(job.vendor.source):
        return text
    return under_attribute(site, feature_attribute(job), text)


def under_attribute(site: Site, attribute: str, text: str) -> str:
    """Set an attribute over an item, below its doc comment as people write it."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if not line.lstrip().startswith("///")), 0)
    prefix = site.indent if first else ""
    following = lines[first:] if first else [site.indent + lines[0], *lines[1:]]
    return "\n".join([*lines[:first], prefix + attribute, *following])


def peers_of(site: Site) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield the siblings of a place of the same kind, with their attributes."""
    for node, attributes in site.siblings:
        if node.type == site.kind and node.id != site.node.id:
            yield node, attributes


def named_sibling(
    site: Site, name: str, *, without: bool = False, gated: bool = False
) -> Span | None:
    """Return the span of a sibling of this name that could not stand beside a copy.

    Args:
        site: the place.
        name: the name.
        without: whether to look for what stands in where the written vendor's feature is off; it
            is never the counterpart itself.
        gated: whether it must stand under the written vendor's feature.
    """
    source, vendor = site.job.vendor.source, site.job.vendor.name
    kinds = next((group for group in ALIKE if site.kind in group), {site.kind})
    for node, attributes in site.siblings:
        if node.type in kinds and node_text(node.child_by_field_name("name")) == name:
            conditions = [cfg for _, cfg in conditions_of(attributes)]
            if gated and not any(cfg.requires(vendor) for cfg in conditions):
                continue
            # What gives way to its copy (PK501) stands in for nothing.
            stands_in = any(c.forbids(vendor) and not c.requires(source) for c in conditions)
            if stands_in is without:
                start = attributes[0].start_byte if attributes else node.start_byte
                return Span(start, node.end_byte)
    return None


def equal_sibling(site: Site, text: str) -> Span | None:
    """Return the span of a sibling that says the same as ``text``, layout and prose aside."""
    wanted, own = _essence(text, site.job), _essence(site.text, site.job)
    twins, matches = [site.start], []
    for node, attributes in peers_of(site):
        start = attributes[0].start_byte if attributes else node.start_byte
        essence = _essence(site.source.text(start, node.end_byte), site.job)
        if essence == wanted:
            matches.append(Span(start, node.end_byte))
        elif essence == own:
            twins.append(start)
    return one_of(site.start, sorted(twins), matches)


def sibling_by_hand(site: Site, key: Callable[[Node], str], *, gated: bool = False) -> Span | None:
    """Return the span of a sibling that a person wrote as the counterpart, in words of their own.

    It has the key of the place under the name table, and is no copy of another sibling.

    Args:
        site: the place.
        key: what the counterpart must have in common with a node of this kind; empty for nothing.
        gated: whether it must stand under the written vendor's feature.
    """
    from portkit.copying.analog import copy_range

    job, source = site.job, site.source
    own = normal(key(site.node))
    wanted = normal(job.rename(key(site.node)))
    originals: dict[int, str] = {}
    written: dict[Span, str] = {}
    for node, attributes in site.siblings:
        if node.type != site.kind:
            continue
        span = Span(attributes[0].start_byte if attributes else node.start_byte, node.end_byte)
        conditions = [cfg for _, cfg in conditions_of(attributes)]
        of_source = any(c.requires(job.vendor.source) for c in conditions) or not gated
        of_vendor = any(c.requires(job.vendor.name) for c in conditions) or not gated
        found = normal(key(node))
        if found == own and of_source:
            copy = copy_range(job, source, span.start, span.end, node, site.scope.symbol)
            originals[span.start] = _essence(copy, job)
        elif found == wanted and of_vendor:
            written[span] = _essence(source.slice(span), job)
    twins = [at for at, copy in originals.items() if copy not in written.values()]
    matches = [span for span, text in written.items() if text not in originals.values()]
    return one_of(site.start, twins, matches) if site.start in twins else None


def one_of(start: int, twins: Sequence[int], matches: Sequence[Span]) -> Span | None:
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


def exclusive(site: Site) -> Exclusive | None:
    """Return the profile's word that a site cannot stand beside its copy, if there is one."""
    return next(
        (e for e in site.job.codebase.exclusives if e.applies(site.source.path, site.scope.symbol)),
        None,
    )


def giving_way(site: Site) -> tuple[Edit, ...]:
    """Return the edit that takes a site away where its copy stands: with both features on."""
    source, vendor = site.job.vendor.source, site.job.vendor.name
    attribute = positive_condition(site, source)
    if attribute is None or any(cfg.forbids(vendor) for _, cfg in site.conditions):
        return ()
    new = node_text(attribute).replace(f'feature = "{source}"', _without(source, vendor), 1)
    return (Edit(attribute.start_byte, attribute.end_byte, new),)


def exclusive_copy(site: Site, copy: str) -> str:
    """Return the copy of a site that may give way to it, under the written vendor's feature."""
    vendor = site.job.vendor.name
    return copy.replace(_without(vendor, vendor), f'feature = "{vendor}"')


def _without(feature: str, other: str) -> str:
    return f'all(feature = "{feature}", not(feature = "{other}"))'


def ported(site: Site, span: Span | None) -> tuple[Status, tuple[Span, ...]]:
    """Return the status of a place whose counterpart is at ``span``, and the spans to claim."""
    if span is None:
        return Status.TODO, (site.span,)
    return Status.PORTED, (site.span, span)


def finding(
    site: Site,
    code: str,
    construct: str,
    message: str,
    *,
    symbol: str = "",
    applicability: Applicability = Applicability.SAFE,
    status: Status = Status.TODO,
    edits: tuple[Edit, ...] = (),
    claims: tuple[Span, ...] | None = None,
    span: Span | None = None,
    entry: str = "",
) -> Finding:
    """Return a finding about a place.

    A finding that writes nothing has the status ``none`` and no edits, whatever is passed.
    """
    if applicability in (Applicability.KEEP, Applicability.MANUAL):
        status = Status.NONE
    return Finding(
        code=code,
        path=site.source.path,
        span=span or site.span,
        construct=construct,
        symbol=symbol or site.symbol() or "file",
        applicability=applicability,
        status=status,
        message=message,
        edits=edits if status is Status.TODO else (),
        claims=(site.span,) if claims is None else claims,
        entry=entry,
    )


def is_dummy(site: Site) -> bool:
    """Whether a place belongs to the dummy backend of the source vendor."""
    return bool(re.search(rf"\bdummy_{site.job.vendor.source}", code_only(site.code)))


def positive_condition(site: Site, feature: str) -> Node | None:
    """Return the attribute that asks for ``feature``."""
    for attribute, cfg in conditions_of(site.own_attributes):
        if cfg.requires(feature):
            return attribute
    return None


def unported_feature(site: Site) -> str:
    """Return the unported feature without which the place does not exist, or an empty string."""
    for _, cfg in site.conditions:
        for feature in sorted(site.job.vendor.unported):
            if cfg.requires(feature):
                return feature
    return ""


def subtract(span: Span, holes: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of a span without the holes in it."""
    at = span.start
    for hole in sorted(holes):
        if span.encloses(hole) and hole.start >= at:
            if hole.start > at:
                yield Span(at, hole.start)
            at = hole.end
    if at < span.end:
        yield Span(at, span.end)
