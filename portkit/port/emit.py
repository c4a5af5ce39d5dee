"""From what a rule wants at a site to a finding: the one place that knows how it is written.

A rule knows a construct. Whether its counterpart stands, what the gating asks for, which bytes
change and what is accounted for by that is the same for all of them, and said here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context import intent as wants
from portkit.context.device_queries import list_chain_links
from portkit.context.port_job import Gating, Site
from portkit.port import (
    copied_values,
    counterparts,
    cuda_tools,
    enum_variants,
    error_arms,
    feature_conflicts,
    gating,
    or_patterns,
    unique_names,
)
from portkit.port.copy_item import copy_range, copy_site
from portkit.port.cuda_only_sites import find_cuda_only_reason, withhold_counterpart
from portkit.port.dispatch_shim import copy_under_name, rename_function
from portkit.port.insert_position import insert_after_member, insert_after_site
from portkit.port.item_patches import is_text_replaced
from portkit.port.peer_arms import exclude_peer_arms
from portkit.port.review_reasons import add_review_reasons, join_messages
from portkit.port.vetoes import find_method_imports, find_veto
from portkit.syntax import patterns, python_nodes, toml_nodes
from portkit.syntax.cfg import parse_cfg, widen_condition
from portkit.syntax.imports import import_unnamed
from portkit.syntax.name_table import normalize_rust, strip_comments_and_strings
from portkit.syntax.precedence import join_by_or
from portkit.syntax.source_file import field_text, node_text, parses_as_items
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.workspace.finding import Applicability, Edit, Finding, Status

_NO_PATTERN = re.compile(
    r"\|\||#\s*\[|::\s*(?:_|mut|ref)\b"
    r"|\b(?:ref|mut)\s+(?!(?:mut\s+)?(?!_\b)[A-Za-z_]\w*\s*(?:[@,)|\]}]|$))"
    r"|\b(?:as|async|await|break|const|continue|dyn|else|enum|extern|fn|for|if|impl|in|let"
    r"|loop|match|mod|move|pub|return|static|struct|trait|type|unsafe|use|where|while)\b"
)
"""What the parser lets pass in a pattern, and rustc does not."""
_NO_MEMBER = (
    "the parser takes a | that leads in parentheses for a closure: take it away, or do it by hand"
)
_NO_MATCH = "its arguments are no pattern that portkit understands: do it by hand"
_NO_CONDITION = "it is no condition that portkit understands: widen it by hand"
_NOTHING_LEFT = "its conditions leave nothing of a copy: see whether it is meant"
_IN_BOTH = (
    "its functions are copied in it, each under its feature: a copy of the whole would stand twice"
    " with both features on"
)
_NO_BRANCH = "a branch of a chain cannot stand under a feature: make it a match, by hand"

_OF_THE_SITE = (
    wants.AddBranch,
    wants.CopySite,
    wants.CopyUnderName,
    wants.AddToList,
    wants.JoinPatterns,
    wants.WidenCondition,
)
"""What is written from the text of the site."""


def make_finding(site: Site, code: str, intent: wants.Intent) -> Finding:
    """Return the finding of a rule about a site: what it wants, and how that is written."""
    finding = _WRITERS[type(intent)](site, code, intent)
    is_review = finding.applicability is Applicability.REVIEW
    if finding.status is Status.PORTED and is_review:
        # The profile holds the text, and its author decided.
        replaced = is_text_replaced(site.job, site.source, finding.span)
        return replace(finding, applicability=Applicability.SAFE) if replaced else finding
    if isinstance(intent, _OF_THE_SITE) and finding.status is Status.TODO:
        widens = isinstance(intent, wants.WidenCondition)
        if alone := find_cuda_only_reason(site, finding.edits, widens=widens):
            return withhold_counterpart(site, finding, alone)
        return add_review_reasons(site, finding, widens=widens)
    return finding


def _build_finding(
    site: Site,
    code: str,
    intent: wants.Intent,
    *edits: Edit,
    stands: bool = False,
    claims: tuple[Span, ...] = (),
) -> Finding:
    """Return a finding; one that writes nothing has no edits, whatever is passed."""
    is_manual = intent.applicability is Applicability.MANUAL
    trust = Applicability.REVIEW if intent.review and not is_manual else intent.applicability
    status = Status.PORTED if stands else intent.status
    return Finding(
        code=code,
        path=site.source.path,
        span=intent.span or site.span,
        construct=intent.construct,
        symbol=intent.symbol or site.symbol() or "file",
        applicability=trust,
        status=status,
        message=intent.message,
        edits=edits if status is Status.TODO else (),
        claims=(claims or (site.span,)) if intent.claims is None else intent.claims,
        entry=intent.entry,
        shadowed=intent.shadowed,
        types=_find_types(site),
        renamed=intent.renamed,
    )


def _find_types(site: Site) -> tuple[str, ...]:
    """Return the owner of a variant or a field, or the types that the pattern of an arm names."""
    if site.kind == "match_arm" and (pattern := site.node.child_by_field_name("pattern")):
        return patterns.find_enum_names(pattern, site.scope.type_name)
    if site.kind not in ("enum_variant", "field_declaration") or site.node.parent is None:
        return ()
    owner = site.node.parent.parent
    if owner is None or owner.type not in ("enum_item", "struct_item"):
        return ()
    return (field_text(owner, "name"),)


def _refuse(site: Site, code: str, intent: wants.Intent, reason: str) -> Finding:
    """Return the finding of an intent that a person must carry out."""
    manual = wants.RequireManual(
        intent.construct, reason, symbol=intent.symbol, claims=intent.claims
    )
    return _build_finding(site, code, manual)


def _write_copy(site: Site, code: str, intent: wants.CopySite) -> Finding:
    """Find the counterpart, ask the vetoes, gate, place."""
    if reason := gating.explain_no_copy(site):
        kept = wants.LeaveUnchanged(intent.construct, reason, symbol=intent.symbol)
        return _build_finding(site, code, kept)
    text = intent.text or feature_conflicts.write_exclusive_copy(
        site, _render_copy(site, intent.name)
    )
    if not text.strip():
        kept = wants.LeaveUnchanged(
            intent.construct, _NOTHING_LEFT, symbol=intent.symbol, review=True
        )
        return _build_finding(site, code, kept)
    found = counterparts.find_counterpart(site, text, intent.name)
    doubt = found and copied_values.explain_maker_text(site.job, site.source.slice(found))
    if doubt:
        intent = replace(intent, message=join_messages(intent.message, doubt), review=True)
    alone = feature_conflicts.find_feature_conflict(site)
    gives_way = "" if alone or intent.text else feature_conflicts.explain_giving_way(site)
    joined: tuple[Edit, ...] = ()
    if not (alone or gives_way or found) and feature_conflicts.explain_clash(site):
        joined = feature_conflicts.split_shared_impl(site)
    if found is None:
        either = bool(alone or gives_way or joined)
        if reason := find_veto(site, text, gives_way=either):
            return _refuse(site, code, replace(intent, claims=None), reason)
    if joined:
        return _build_finding(site, code, replace(intent, message=_IN_BOTH), *joined)
    if alone is not None and site.job.rename(site.name) == site.name:
        intent = replace(intent, message=alone.reason)
    if gives_way:
        text = feature_conflicts.write_excluded_copy(site, text)
        intent = replace(intent, message=gives_way, review=True)
    edits = list(feature_conflicts.exclude_original(site)) if alone is not None else []
    if site.source.path.endswith(".rs") and gating.requires_feature(site, text):
        text = gating.gate_copy(site, text)
        twin = _write_twin(site, intent.name)
        attribute = normalize_rust(gating.write_feature_attribute(site.job))
        if found is None:
            text += twin
        elif twin and attribute in normalize_rust(site.source.slice(found)):
            edits.append(Edit(found.end, found.end, twin))
    if found is None:
        named = intent.name or site.job.vendor.names.word(counterparts.read_item_name(site.node))
        is_variant = site.kind == "enum_variant"
        after = enum_variants.find_variant_position(site) if is_variant else site
        edits.append(insert_after_site(after, text, named))
    claims = exclude_peer_arms(site, (site.span, *([found] if found else [])))
    finding = _build_finding(site, code, intent, *edits, stands=not edits, claims=claims)
    if site.kind != "match_arm":
        return finding
    pattern = node_text(site.node.child_by_field_name("pattern"))
    return _add_error_arm(site, finding, intent.pattern or site.job.rename(pattern))


def _write_copy_under_name(site: Site, code: str, intent: wants.CopyUnderName) -> Finding:
    edits, found = copy_under_name(site, intent)
    if edits and (reason := cuda_tools.explain_cuda_run(site, copy_site(site))):
        return _refuse(site, code, replace(intent, claims=None), reason)
    claims = exclude_peer_arms(site, (site.span, *([found] if found else [])))
    return _build_finding(site, code, intent, *edits, stands=not edits, claims=claims)


def _add_error_arm(site: Site, finding: Finding, pattern: str) -> Finding:
    """Return the finding of an arm with the one that answers with an error if it is left out.

    Where such a one stands, the arm takes its place.
    """
    if finding.status is not Status.TODO:
        return finding
    error = error_arms.find_error_arm(site, pattern)
    if error is None:
        return replace(finding, error_edits=error_arms.add_error_arm(site, pattern))
    gone = error_arms.remove_error_arm(site, error)
    return replace(
        finding,
        edits=(*finding.edits, gone),
        claims=(*finding.claims, Span(gone.start, gone.end)),
        replaces_error_arm=True,
    )


def _render_copy(site: Site, name: str) -> str:
    """Return the copy of a site in the language of its file."""
    names = site.job.vendor.names
    if site.is_python:
        function = python_nodes.find_definition(site.node)
        named = function.child_by_field_name("name") if function is not None else None
        return python_nodes.rename_python(
            names, site.node, (named, name) if named and name else None
        )
    if site.source.path.endswith(".toml"):
        return names.text(
            site.source.text(site.node.start_byte, toml_nodes.find_table_end(site.node))
        )
    if site.kind in ("enum_variant", "field_declaration"):
        changes = enum_variants.list_variant_changes(site), unique_names.list_name_changes(site)
        copy = copy_site(site, chain(*changes))
    else:
        copy = copy_site(site)
    if alone := find_method_imports(site):
        return import_unnamed(copy, alone)
    return rename_function(copy, name) if name else copy


def _write_twin(site: Site, name: str) -> str:
    """Return the function that answers where the feature is off, unless it stands."""
    if site.kind != "function_item" or site.job.gating is not Gating.CFG:
        return ""
    twin = gating.write_disabled_twin(site)
    wanted = name or site.job.rename(site.name)
    stands = twin and counterparts.find_sibling_named(site, wanted, without=True) is not None
    return "" if stands else twin


def _write_branch(site: Site, code: str, intent: wants.AddBranch) -> Finding:
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    assert condition is not None  # a rule wants a branch of a whole `if` alone
    assert body is not None
    span = Span(condition.start_byte, body.end_byte)
    copy = copy_range(site.job, site.source, span.start, span.end, site.node, site.scope.symbol)
    found = counterparts.find_branch(site)
    claims = (span,) if found is None else (span, found)
    if found is None and gating.requires_cfg(site) and site.job.mentions_gated(copy):
        return _refuse(site, code, replace(intent, claims=claims), _NO_BRANCH)
    if found is None and (reason := cuda_tools.explain_uncopied_call(site, copy)):
        return _refuse(site, code, replace(intent, claims=claims), reason)
    edit = Edit(body.end_byte, body.end_byte, f" else if {copy}")
    return _build_finding(site, code, intent, edit, stands=found is not None, claims=claims)


def _join_patterns(site: Site, code: str, intent: wants.JoinPatterns) -> Finding:
    members = (member for listed in intent.lists for member in listed)
    if any(site.source.slice(member).startswith("|") for member in members):
        return _build_finding(site, code, wants.RequireManual(intent.construct, _NO_MEMBER))
    wanted = or_patterns.plan_joins(site, intent)
    stands = or_patterns.are_joined(site, intent, wanted)
    if not stands and or_patterns.cannot_join(site, intent, wanted):
        if intent.otherwise is not None:
            return make_finding(site, code, or_patterns.exclude_other_lists(site, intent, wanted))
        edits: tuple[Edit, ...] = (or_patterns.add_own_arm(site, intent, wanted),)
        if or_patterns.mentions_cuda_after_pattern(site, intent) and not intent.review:
            intent = replace(intent, message=f"copy the arm for {site.job.vendor.title}")
        if site.kind == "macro_invocation" and not _may_be_a_match(site, edits[0].text):
            return _build_finding(site, code, wants.RequireManual(intent.construct, _NO_MATCH))
    else:
        edits = or_patterns.join_patterns(intent, wanted)
    claims = or_patterns.list_covered_spans(site, intent)
    finding = _build_finding(site, code, intent, *edits, stands=stands, claims=claims)
    if site.kind != "match_arm":
        return finding
    return _add_error_arm(site, finding, or_patterns.write_own_pattern(site, intent, wanted))


def _may_be_a_match(site: Site, text: str) -> bool:
    """Whether a ``match`` may stand where a macro does: where values do, and with patterns."""
    is_item = site.outer is not None and site.outer.kind in ("declaration_list", "source_file")
    value, members, guard = patterns.parse_matches_macro(site.node)
    if is_item or not members or _NO_PATTERN.fullmatch(site.source.slice(value)):
        return False
    if "/" in site.source.text(guard.end, site.node.end_byte):  # a comment that would be lost
        return False
    # Two bars are refused with what lies between them left out, and so is one before nothing.
    bare = strip_comments_and_strings(site.source.text(members[0].start, guard.start)).rstrip()
    if bare.endswith("|") or _NO_PATTERN.search(re.sub(r"\|\s+", "|", bare)):
        return False
    return parses_as_items(f"fn f() {{ {text} }}")


def _add_to_list(site: Site, code: str, intent: wants.AddToList) -> Finding:
    job, source = site.job, site.source
    listed = {normalize_rust(each) for each in intent.listed}
    if site.kind == "use_declaration":
        listed |= counterparts.list_imported_paths(site)
    missing = [m for m in intent.members if normalize_rust(m.path or m.text) not in listed]
    apart = [m for m in missing if gating.requires_cfg(site) and gating.is_gated_path(job, m.path)]
    joining_ = [m for m in missing if m not in apart]
    edits = [
        insert_after_member(source, m.after, m.text, m.separator)
        for m in joining_
        if m.after.start < m.after.end
    ]
    first = [m for m in joining_ if m.after.start == m.after.end]
    if first:
        at = first[0].after.end
        edits.append(Edit(at, at, ", ".join(m.text for m in first)))
    if apart:
        shown = [c for c in site.node.children if c.type == "visibility_modifier"]
        head = "".join(f"{node_text(each)} " for each in shown) + "use "
        lines = [gating.gate_copy(site, f"{head}{m.path};") for m in apart]
        edits.append(insert_after_site(site, f"\n{site.indent}".join(lines)))
    return _build_finding(site, code, intent, *edits, stands=not missing)


def _widen_condition(site: Site, code: str, intent: wants.WidenCondition) -> Finding:
    job, node = site.job, intent.condition
    start, end = node.start_byte, node.end_byte
    text = site.source.text(start, end)
    claims: tuple[Span, ...] = (Span(start, end),)
    if node.type in ("attribute_item", "inner_attribute_item", "macro_invocation"):
        wide = text = text.replace("\r\n", "\n")
        for source, vendor in job.counterparts.items():
            wide = widen_condition(wide, source, vendor)
        edits: tuple[Edit, ...] = (Edit(start, end, wide),)
        asked = normalize_rust(text)
        stands = all(
            f'feature="{vendor}"' in asked
            for source, vendor in job.counterparts.items()
            if f'feature="{source}"' in asked
        )
        cfg = parse_cfg(text)
        if edits[0].text == text:
            return _build_finding(site, code, wants.RequireManual(intent.construct, _NO_CONDITION))
        either = frozenset(each for pair in job.counterparts.items() for each in pair)
        both = cfg is not None and cfg.without(either) is False
        if cfg is not None and (
            job.cfg_requires_cuda(cfg) or (both and not job.rename_changes_code(site.code))
        ):
            claims = (site.span,)  # what stands under the feature alone goes with it
    elif site.is_python:
        copy = python_nodes.rename_python(job.vendor.names, node)
        stands = copy in node_text(intent.within)
        edits = _join_by_or(node, f" or {copy}", in_brackets=not _is_operand_of_or(node))
    else:
        copy = intent.copy or job.rename(text)
        stands = _stands_behind(site, intent.within, normalize_rust(copy))
        edits = (Edit(start, end, join_by_or(node, text, copy)),)
    return _build_finding(site, code, intent, *edits, stands=stands, claims=claims)


class _Chain(Value, frozen=True):
    """The conditions and blocks of a chain of ``if``, as one text that each link is a rest of."""

    text: str  # as tokens without space, see `normalize_rust`
    words: frozenset[str]  # those of the text, so that few copies are looked for in all of it
    starts: Mapping[int, int]  # where the rest from a link on begins, by the link


def _stands_behind(site: Site, holder: Node, copy: str) -> bool:
    """Whether a text stands in a condition or a block of a link, or of one behind it."""
    chains: dict[int, _Chain] = site.memoize("chains", make=dict)
    if holder.id not in chains:
        texts: list[str] = []
        starts: dict[int, int] = {}
        at = 0
        for node, parts in list_chain_links(holder):
            text = "\0".join([*(normalize_rust(node_text(part)) for part in parts), ""])
            starts[node.id] = at
            at += len(text)
            texts.append(text)
        text = "".join(texts)
        chain = _Chain(text, frozenset(re.findall(r"\w+", text)), starts)
        chains |= dict.fromkeys(chain.starts, chain)
    chain = chains[holder.id]
    # The first word and the last may be joined to others, since the text has no space.
    may_be = chain.words.issuperset(re.findall(r"(?<=\W)\w+(?=\W)", copy))
    return may_be and chain.text.find(copy, chain.starts[holder.id]) >= 0


def _join_by_or(node: Node, added: str, *, in_brackets: bool) -> tuple[Edit, ...]:
    start, end = node.start_byte, node.end_byte
    if in_brackets:
        return Edit(start, start, "("), Edit(end, end, f"{added})")
    return (Edit(end, end, added),)


def _is_operand_of_or(node: Node) -> bool:
    """Whether a question in Python stands where ``or`` needs no brackets."""
    parent = node.parent
    return (
        parent is None
        or parent.type in python_nodes.CONDITIONAL
        or python_nodes.read_operator(parent) == "or"
    )


def _insert_text(site: Site, code: str, intent: wants.InsertText) -> Finding:
    found = counterparts.find_sibling_named(site, intent.name) if intent.name else None
    edit = Edit(intent.at, intent.at, intent.text)
    return _build_finding(site, code, intent, edit, stands=found is not None)


def _insert_arms(site: Site, code: str, intent: wants.InsertArms) -> Finding:
    """Set arms before the last one, unless they stand or a person wrote some between the two."""
    job, last = site.job, site.node.named_children[-1]
    text = gating.gate_arms(job, intent.text)
    between = (job.vendor.source.capitalize(), job.vendor.variant)
    by_hand = any(
        patterns.pattern_key(node_text(arm.child_by_field_name("pattern"))) == between
        for arm in site.node.named_children
        if arm.type == "match_arm"
    )
    stands = by_hand or normalize_rust(text) in normalize_rust(node_text(site.node))
    indent = site.source.indent(last.start_byte)
    text = text.replace("\n", f"\n{indent}") + f"\n{indent}"
    edit = Edit(last.start_byte, last.start_byte, text)
    return _build_finding(site, code, intent, edit, stands=stands)


def _replace_text(site: Site, code: str, intent: wants.ReplaceText) -> Finding:
    text = site.code
    if intent.sign:
        stands = intent.within is not None and normalize_rust(intent.sign) in normalize_rust(
            node_text(intent.within)
        )
    else:
        stands = intent.new in text
    start = site.node.start_byte + len(text[: text.index(intent.old)].encode()) if not stands else 0
    edit = Edit(start, start + len(intent.old.encode()), intent.new)
    claims = (Span(site.node.start_byte, site.node.end_byte),)
    return _build_finding(site, code, intent, edit, stands=stands, claims=claims)


_WRITERS: Mapping[type[wants.Intent], Callable[[Site, str, Any], Finding]] = {
    wants.InsertText: _insert_text,
    wants.InsertArms: _insert_arms,
    wants.RequireManual: _build_finding,
    wants.AddBranch: _write_branch,
    wants.CopySite: _write_copy,
    wants.CopyUnderName: _write_copy_under_name,
    wants.AddToList: _add_to_list,
    wants.JoinPatterns: _join_patterns,
    wants.LeaveUnchanged: _build_finding,
    wants.ReplaceText: _replace_text,
    wants.AlreadyPorted: _build_finding,
    wants.WidenCondition: _widen_condition,
}
