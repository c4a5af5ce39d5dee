"""How the written vendor's value joins or-patterns, or gets an arm of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from portkit.context.intent import CopySite, Intent, JoinPatterns, RequireManual
from portkit.context.port_job import Site
from portkit.port import counterparts, gating
from portkit.port.copy_item import copy_range, substitute_peer
from portkit.port.insert_position import insert_after_site
from portkit.syntax import patterns
from portkit.syntax.source_file import span_of
from portkit.syntax.span import Span
from portkit.workspace.finding import Edit

JoinPlan = tuple[tuple[tuple[Span, str], ...], ...]
"""For each list, the members that the value joins, and what joins them."""

_OPEN: Final = re.compile(r"(?:return|break|move)\b|\||[^{]*\{", re.DOTALL)
"""What cannot stand as it is between ``match`` and its arms, whose brace it would take for its own.
Source: the Rust reference, "Match expressions"."""


def _rename_member(site: Site, intent: JoinPatterns) -> Callable[[str], str]:
    job = site.job
    return partial(substitute_peer, job, vendor=job.vendor.name) if intent.peer else job.rename


def plan_joins(site: Site, intent: JoinPatterns) -> JoinPlan:
    """Return what joins each list, and behind which member of it."""
    job, renamed = site.job, _rename_member(site, intent)
    named = job.mentions_peer if intent.peer else job.renames_or_says_cuda
    found = []
    for members in intent.lists:
        texts = [(m, site.source.slice(m)) for m in members]
        wanted = [(m, renamed(text)) for m, text in texts if named(text)]
        found.append(tuple(wanted[:1] if intent.peer else wanted))
    return tuple(found)


def are_joined(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> bool:
    """Whether the value has joined each list, or has an arm of its own."""
    joined = all(
        {patterns.pattern_key(text) for _, text in joining}
        <= {patterns.pattern_key(site.source.slice(m)) for m in members}
        for members, joining in zip(intent.lists, wanted, strict=True)
    )
    if joined or site.kind != "match_arm":
        return joined
    return _find_own_arm(site, intent, wanted) is not None


def _find_own_arm(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> Span | None:
    """Return the arm of its own that a value has, if it has one."""
    pattern = wanted[0][0][1] if intent.peer else write_own_pattern(site, intent, wanted)
    return counterparts.find_arm(site, patterns.pattern_key(pattern))


def cannot_join(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> bool:
    """Whether the value cannot join the patterns.

    It cannot under a feature, nor with a type of its own, nor where what follows names the source:
    then the copy of that is right for the value. Where a list mixes vendors already, what it binds
    has one type for all of them.
    """
    in_each_build = all(
        gating.mentions_only_error(site.job, text) for each in wanted for _, text in each
    )
    if (gating.requires_cfg(site) and not in_each_build) or mentions_cuda_after_pattern(
        site, intent
    ):
        return True
    single = [site.source.slice(*members) for members in intent.lists if len(members) == 1]
    if intent.peer:
        return bool(single)
    return any(
        patterns.may_bind_value(patterns.parse_pattern(text), site.job.renames_or_says_cuda)
        for text in single
    )


def mentions_cuda_after_pattern(site: Site, intent: JoinPatterns) -> bool:
    """Whether what follows a pattern names the source: the guard, and the value of an arm."""
    if intent.peer:
        return False
    if site.kind == "macro_invocation":
        _, _, guard = patterns.parse_matches_macro(site.node)
        return site.job.is_cuda_specific(site.source.slice(guard))
    pattern = site.node.child_by_field_name("pattern") if site.kind == "match_arm" else None
    if pattern is None:
        return False
    start = pattern.named_children[0].end_byte
    return site.job.is_cuda_specific(site.source.text(start, site.node.end_byte))


def join_patterns(intent: JoinPatterns, wanted: JoinPlan) -> tuple[Edit, ...]:
    """Return the edits by which the value joins each pattern."""
    if intent.pattern is not None:
        added = " | ".join(text for joining in wanted for _, text in joining)
        return tuple(
            Edit(at, at, text) for at, text in patterns.append_members(intent.pattern, added)
        )
    return tuple(
        Edit(member.end, member.end, f" | {text}") for joining in wanted for member, text in joining
    )


def add_own_arm(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> Edit:
    """Return the edit that gives the value an arm of its own."""
    if site.kind == "macro_invocation":
        return Edit(site.node.start_byte, site.node.end_byte, _match(site, wanted))
    pattern, guard, value = _write_own_arm(site, intent.lists, wanted)
    rest = _rename_member(site, intent)(guard) + (
        _rename_member(site, intent)(value) if intent.peer else _copy_value(site)
    )
    return insert_after_site(site, gating.gate_copy(site, pattern + rest))


def write_own_pattern(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> str:
    """Return the pattern, with its guard, of an arm on the value alone."""
    pattern, guard, _ = _write_own_arm(site, intent.lists, wanted)
    return pattern + _rename_member(site, intent)(guard)


def list_covered_spans(site: Site, intent: JoinPatterns) -> tuple[Span, ...]:
    """Return what a value that joins accounts for: members of the source's and of peers'.

    An arm of its own is a copy, and so accounts for the whole.
    """
    job = site.job
    own = Span(site.node.start_byte, site.node.end_byte)
    if site.kind != "match_arm" or intent.peer:
        return (own,)
    if mentions_cuda_after_pattern(site, intent):
        found = _find_own_arm(site, intent, plan_joins(site, intent))
        return (own,) if found is None else (own, found)
    return tuple(
        m
        for members in intent.lists
        for m in members
        if job.renames_or_says_cuda(site.source.slice(m)) or job.mentions_peer(site.source.slice(m))
    )


def _write_joined_lists(
    site: Site, lists: Sequence[Sequence[Span]], wanted: JoinPlan, span: Span
) -> str:
    """Return a text in which each list holds what joins it and nothing else."""
    out, at = [], span.start
    for members, joining in sorted(zip(lists, wanted, strict=True), key=lambda pair: pair[0][0]):
        whole = _find_list_span(site, members)
        out += [site.source.text(at, whole.start), " | ".join(text for _, text in joining)]
        at = whole.end
    return "".join([*out, site.source.text(at, span.end)])


def _find_list_span(site: Site, members: Sequence[Span]) -> Span:
    """Return where a list stands, with the parentheses that its first and last member may have."""
    span = Span(members[0].start, members[-1].end)
    node = site.node.descendant_for_byte_range(*span)
    return span_of(node) if node is not None and node.type == "or_pattern" else span


def exclude_other_lists(site: Site, intent: JoinPatterns, wanted: JoinPlan) -> Intent:
    """Return what is wanted where no value can join: its copy is not about others that stand there.

    With them, what is done for a peer would be done twice. A person reviews what runs for the
    written vendor as well, however it is written.
    """
    assert intent.otherwise is not None
    otherwise = intent.otherwise
    if intent.review and not isinstance(otherwise, RequireManual):
        otherwise = replace(otherwise, message=intent.message, review=True)
    if not isinstance(otherwise, CopySite) or all(len(m) == 1 for m in intent.lists):
        return otherwise
    text = site.job.rename(_write_joined_lists(site, intent.lists, wanted, site.span))
    return replace(otherwise, text=text)


def _write_own_arm(
    site: Site, lists: Sequence[Sequence[Span]], wanted: JoinPlan
) -> tuple[str, str, str]:
    """Return an arm on the value alone: the pattern, the guard, and what follows."""
    pattern = site.node.child_by_field_name("pattern")
    assert pattern is not None  # an arm has one
    inner = pattern.named_children[0]
    text = _write_joined_lists(site, lists, wanted, Span(pattern.start_byte, inner.end_byte))
    guard = site.source.text(inner.end_byte, pattern.end_byte)
    return text, guard, site.source.text(pattern.end_byte, site.node.end_byte)


def _copy_value(site: Site) -> str:
    """Return the copy of what follows the pattern of an arm."""
    pattern, value = (site.node.child_by_field_name(name) for name in ("pattern", "value"))
    assert pattern is not None  # an arm has one
    assert value is not None  # and the other
    start, end = pattern.end_byte, site.node.end_byte
    return copy_range(site.job, site.source, start, end, value, site.scope.symbol)


def _match(site: Site, wanted: JoinPlan) -> str:
    """Return the ``match`` that a ``matches!`` is short for, with an arm for the value."""
    source, inner = site.source, site.indent + "    "
    value, members, guard = patterns.parse_matches_macro(site.node)
    text = " | ".join(text for joining in wanted for _, text in joining)
    condition = f" {source.slice(guard)}" if guard.start < guard.end else ""
    condition = site.job.rename(condition)
    attribute = (
        f"{inner}{gating.write_feature_attribute(site.job)}\n" if gating.requires_cfg(site) else ""
    )
    scrutinee = source.slice(value)
    if _OPEN.match(scrutinee):
        scrutinee = f"({scrutinee})"
    written = (
        f"match {scrutinee} {{\n"
        f"{inner}{source.text(members[0].start, guard.end)} => true,\n"
        f"{attribute}{inner}{text}{condition} => true,\n"
        f"{inner}_ => false,\n{site.indent}}}"
    )
    return f"({written})" if _begins_a_statement(site) else written


def _begins_a_statement(site: Site) -> bool:
    """Whether a value is the head of a longer one that a statement begins with.

    There a ``match`` would be a statement by itself. Source: the Rust reference, "Expression
    statements".
    """
    outer, longer = site.outer, False
    while outer is not None and outer.node.start_byte == site.node.start_byte:
        if outer.kind == "expression_statement":
            return longer
        outer, longer = outer.outer, True
    return longer and outer is not None and outer.kind == "block"
