"""An arm of a ``match`` on a value of the CUDA backend.

A ``match`` over devices or storages has one arm per backend. The ROCm arm is the CUDA arm under the
name table: ``Storage::Cuda(s) => ..`` gives ``Storage::Rocm(s) => ..``, and an arm on two values of
one backend, ``(Cuda(a), Cuda(b))``, gives one on two values of ROCm. Without it rustc reports a
missing variant, but not where a ``_`` arm swallows it: that is why such arms are found here and not
left to the compiler. An arm on the string ``"cuda"`` is treated the same.

Arms that name a peer's value, such as ``(Cuda(_), Metal(_))``, are copied too. Not handled: an arm
whose pattern is a macro.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import counterpart as emit
from portkit.copying.analog import copy_site, pattern_members
from portkit.lang.cfg import parse_cfg
from portkit.lang.renaming import code_only
from portkit.lang.source import node_text
from portkit.lang.span import Span
from portkit.rules import Rule
from portkit.site.context import Gating, Site
from portkit.tree.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

CODE = "PK301"


def check(site: Site) -> Iterator[Finding]:
    """Find an arm on a value of the source vendor."""
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    members = pattern_members(pattern)
    named = [m for m in members if names_vendor(site, node_text(m))]
    if not named or len(named) < len(members) or mixed_lists(site, pattern):
        return
    if emit.unported_feature(site):
        return
    if re.search(rf"\b{site.job.vendor.variant}\b", node_text(pattern)):
        yield emit.finding(
            site,
            CODE,
            f"match arm: {enum_of(site, pattern)}",
            f"the arm is between the two backends, {site.job.vendor.title} among them",
            status=Status.PORTED,
        )
        return
    if site.job.gating is Gating.CFG and _forbids(site.node, site.job.vendor.source):
        yield emit.finding(
            site,
            CODE,
            f"match arm: {enum_of(site, pattern)}",
            "the variant does not exist without the feature, so no arm answers for it",
            symbol=site.symbol(),
            applicability=Applicability.KEEP,
        )
        return
    status, claims = emit.ported(site, _counterpart(site, pattern))
    yield emit.finding(
        site,
        CODE,
        f"match arm: {enum_of(site, pattern)}",
        f"copy the arm for {site.job.vendor.title}",
        status=status,
        edits=(emit.insertion(site, emit.gated(site, copy_site(site))),),
        claims=claims,
    )


def names_vendor(site: Site, text: str) -> bool:
    """Whether a pattern names a value of the source vendor: a path, or its name as a string."""
    job = site.job
    return job.renames_code(text) or f'"{job.vendor.source}"' in text


def mixed_lists(site: Site, pattern: Node) -> list[list[Node]]:
    """Return the members of each or-pattern in which the source vendor stands beside others.

    There are none where the rest of the pattern names the vendor too: then the arm is about its
    values alone, and is copied as a whole.
    """
    found: list[list[Node]] = []
    rest = site.source.text(pattern.start_byte, pattern.end_byte)
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type != "or_pattern":
            pending += node.named_children
            continue
        members = pattern_members(node)
        if len({names_vendor(site, node_text(m)) for m in members}) == 2:
            found.append(members)
            rest = rest.replace(node_text(node), "_")
    return [] if names_vendor(site, rest) else found


def enum_of(site: Site, pattern: Node) -> str:
    """Return the enum that a pattern is about, or a tuple of them, or ``string``."""
    text = code_only(node_text(pattern))
    names: list[str] = []
    for path in re.findall(r"((?:\w+::)+)[A-Z]\w*", text):
        name = path.rstrip(":").rsplit("::", 1)[-1]
        names.append(site.scope.type_name if name == "Self" else name)
    unique = list(dict.fromkeys(n for n in names if n))
    if not unique:
        return "string" if '""' in text else "value"
    return unique[0] if len(unique) == 1 else f"({', '.join(unique)})"


def pattern_key(text: str) -> tuple[str, ...]:
    """Return what a pattern asks for: the last names of its paths, and its strings."""
    return tuple(re.findall(r'\b[A-Z]\w*\b(?!::)|"[^"]*"', text))


def _counterpart(site: Site, pattern: Node) -> Span | None:
    wanted = pattern_key(site.job.rename(node_text(pattern)))
    forbidden = _forbids(site.node, site.job.vendor.source)
    guarded = pattern.child_by_field_name("condition") is not None
    for arm, _ in emit.peers_of(site):
        other = arm.child_by_field_name("pattern")
        if other is None or _forbids(arm, site.job.vendor.name) != forbidden:
            continue
        if (other.child_by_field_name("condition") is not None) != guarded:
            continue
        if any(pattern_key(node_text(m)) == wanted for m in (other, *pattern_members(other))):
            return Span(arm.start_byte, arm.end_byte)
    return None


def _forbids(arm: Node, feature: str) -> bool:
    for child in arm.children:
        if child.type == "attribute_item":
            cfg = parse_cfg(node_text(child))
            if cfg is not None and cfg.forbids(feature):
                return True
    return False


RULE = Rule(CODE, "match_arm", frozenset({"match_arm"}), check)
