"""Items that cannot exist beside their copies if both features are on.

What the profile calls exclusive gives way to its copy. What is one of a pair, under the source's
feature and where that is off, says that one answer is wanted: there the copy gives way, and a
person looks at it. So does the copy of an implementation that would stand twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port.copy_item import copy_range
from portkit.port.counterparts import read_item_name
from portkit.port.gating import write_feature_condition, write_feature_without
from portkit.profiles.entries import FeatureConflict
from portkit.syntax.cfg import (
    ITEMS_WITH_INNER_ATTRIBUTES,
    Cfg,
    find_attributes,
    parse_conditions,
    widen_condition,
)
from portkit.syntax.imports import find_imported_names
from portkit.syntax.items import describe_impl, describe_item
from portkit.syntax.source_file import group_attributes, node_text
from portkit.workspace.finding import Edit

PAIRED: Final = (
    "one of a pair, the other of which stands where the feature is off: with both features on"
    " CUDA's is taken; see whether it should be"
)
_IMPLEMENTED: Final = (
    "with both features on it would be implemented twice: there CUDA's is taken; see whether it"
    " should be"
)
STEPS: Final = frozenset(
    {
        "async_block",
        "block",
        "const_block",
        "expression_statement",
        "for_expression",
        "if_expression",
        "loop_expression",
        "macro_invocation",
        "match_expression",
        "unsafe_block",
        "while_expression",
    }
)
"""Statements of a block that are expressions: its value may be one of them."""


def find_feature_conflict(site: Site) -> FeatureConflict | None:
    """Return the profile's word that a site cannot stand beside its copy, if there is one."""
    if not site.is_cuda_only:
        return None
    return next(
        (
            e
            for e in site.job.codebase.feature_conflicts
            if e.applies(site.source.path, site.scope.symbol)
        ),
        None,
    )


def explain_pair(site: Site) -> str:
    """Return why a person should look at one of a pair, and what a build with both lacks."""
    if site.kind != "trait_item":
        return PAIRED
    return (
        f"{PAIRED}. The trait `{site.name}` has CUDA's bounds and functions then, so"
        f" {site.job.vendor.title}'s code in such a build may not compile"
    )


def exclude_original(site: Site) -> tuple[Edit, ...]:
    """Return the edit that takes a site away where its copy stands: with both features on."""
    source, written = site.job.source_feature, site.job.feature
    if any(cfg.forbids(written) for _, cfg in site.conditions):
        return ()
    attribute = next(
        attribute for attribute, cfg in site.conditions if site.job.cfg_requires_cuda(cfg)
    )
    new = re.sub(
        _make_feature_pattern(source),
        write_feature_without(source, written),
        node_text(attribute),
        count=1,
    )
    return (Edit(attribute.start_byte, attribute.end_byte, new),)


def is_paired(site: Site) -> bool:
    """Whether all that a site names is there where the source's feature is off too, or the reverse.

    It is so of ``#[cfg(feature = "cuda")] type Device = Cuda`` beside ``#[cfg(not(feature =
    "cuda"))] type Device = Cpu``, and of steps of a block that follow each other. What renaming
    tells apart is no pair: its copy stands beside it.
    """
    if site.kind in STEPS:
        own = _read_sides(site.job, site.conditions)
        return len(own) == 1 and any((not side) in _find_step_sides(site) for side in own)
    return is_pair(site, site.node, site.conditions)


def has_own_step(site: Site) -> bool:
    """Whether the step after a site is of the same kind, for ROCm, and in no build for CUDA."""
    job = site.job
    steps = [each for each in site.siblings if "comment" not in each[0].type]
    ids = [node.id for node, _ in steps]
    if site.node.id not in ids:
        return False
    return any(
        node.type == site.kind
        and any(map(job.cfg_requires_rocm, conditions))
        and any(map(job.cfg_excludes_cuda, conditions))
        for node, attributes in steps[ids.index(site.node.id) + 1 :][:1]
        for conditions in [[c for _, c in parse_conditions(find_attributes(node, attributes))]]
    )


def is_pair(site: Site, node: Node, conditions: Iterable[tuple[Node, Cfg]]) -> bool:
    """Whether what stands beside a site under some conditions is one of a pair; see `is_paired`."""
    own = _read_sides(site.job, conditions)
    names = _names(node)
    if len(own) != 1 or not names or any(site.job.rename(name) != name for name in names):
        return False
    sides = site.memoize("sides", site.container, make=lambda: _find_sides(site))
    return all((name, not side) in sides for name in names for side in own)


def explain_clash(site: Site) -> str:
    """Return what of an implementation and its copy would clash, or nothing.

    Of a trait it is the whole (rustc: E0119), of a type's own functions those that keep their names
    (E0592).
    """
    if site.kind != "impl_item" or not site.is_cuda_only:
        return ""
    head = describe_impl(site.node)
    if site.job.rename(head) != head:
        return ""
    kept = [name for name in _list_member_names(site) if site.job.rename(name) == name]
    of_trait = site.node.child_by_field_name("trait") is not None
    return head if of_trait else next(iter(kept), "")


def can_exclude_original(site: Site) -> bool:
    """Whether all of an implementation is there without its copy, by the names of its members."""
    return all(site.job.rename(name) == name for name in _list_member_names(site))


def write_excluded_copy(site: Site, text: str) -> str:
    """Return the copy of one of a pair, as it stands where the source's feature is off."""
    written = site.job.counterparts.items()
    source, own = next(pair for pair in written if site.requires(pair[0]))
    head, opening, rest = text.partition("#[cfg")
    return (
        head
        + opening
        + re.sub(_make_feature_pattern(own), write_feature_without(own, source), rest, count=1)
    )


def write_exclusive_copy(site: Site, text: str) -> str:
    """Return the copy of a site that may give way to it, under the written vendor's feature."""
    own = site.job.feature
    if not any(cfg.forbids(own) for _, cfg in site.conditions):
        return text
    # Beside other conditions as well: a copy under `not(feature = "rocm")` would exist nowhere.
    absent = rf"not\s*\(\s*{_make_feature_pattern(own)}\s*,?\s*\)"
    both = rf"all\s*\(\s*({_make_feature_pattern(own)})\s*,\s*{absent}\s*\)"
    plain = re.sub(both, r"\1", text)
    return re.sub(rf",\s*{absent}|{absent}\s*,\s*", "", plain)


def _make_feature_pattern(feature: str) -> str:
    """Return a pattern for what asks for a feature, however it is spaced."""
    return rf'feature\s*=\s*"{re.escape(feature)}"'


def _find_sides(site: Site) -> frozenset[tuple[str, bool]]:
    """Return what stands beside a site under the source's feature, or where that is off."""
    return frozenset(
        (name, side)
        for node, attributes in site.siblings
        if attributes or node.type in ITEMS_WITH_INNER_ATTRIBUTES
        for side in _read_sides(site.job, parse_conditions(find_attributes(node, attributes)))
        for name in _names(node)
    )


def _read_sides(job: PortJob, conditions: Iterable[tuple[Node, Cfg]]) -> frozenset[bool]:
    """Return true for the source's feature, false for where that is off; both where nothing is."""
    cfgs = [cfg for _, cfg in conditions]
    if any(job.cfg_requires_rocm(cfg) for cfg in cfgs):
        return frozenset()
    sides = {
        True: lambda cfg: job.cfg_requires_cuda(cfg) or job.cfg_requires_either(cfg),
        False: lambda cfg: job.cfg_excludes_cuda(cfg) or _holds_without(job, cfg),
    }
    return frozenset(side for side, stands in sides.items() if any(map(stands, cfgs)))


def _holds_without(job: PortJob, cfg: Cfg) -> bool:
    """Whether a condition holds wherever the source's feature is off, as of what is left then."""
    off = frozenset(each for pair in job.counterparts.items() for each in pair)
    return job.cfg_mentions_cuda(cfg) and cfg.without(off) is True


def _find_step_sides(site: Site) -> frozenset[bool]:
    """Return the sides of the steps of a block that follow each other, this one's among them."""

    def read() -> Mapping[int, frozenset[bool]]:
        runs: list[tuple[list[int], set[bool]]] = [([], set())]
        for node, attributes in site.siblings:
            conditions = parse_conditions(attributes)
            if not conditions:
                runs.append(([], set()))
            elif node.type in STEPS:
                runs[-1][0].append(node.id)
                runs[-1][1].update(_read_sides(site.job, conditions))
        return {each: frozenset(sides) for run, sides in runs for each in run}

    return site.memoize("steps and sides", site.container, make=read).get(site.node.id, frozenset())


def _list_member_names(site: Site) -> list[str]:
    """Return the names of what an implementation holds."""
    body = site.node.child_by_field_name("body")
    return [
        name for node in (body.named_children if body else ()) if (name := read_item_name(node))
    ]


def _names(node: Node) -> list[str]:
    """Return what a node is called, or brings in; macros may stand twice, and so may ``_``."""
    if node.type == "use_declaration":
        return [name for name in find_imported_names(node) if name != "_"]
    return [name for name in [read_item_name(node)] if name and node.type != "macro_definition"]


def split_shared_impl(site: Site) -> tuple[Edit, ...]:
    """Return the edits that copy the CUDA methods of a shared impl, each under its feature."""
    job, body = site.job, site.node.child_by_field_name("body")
    members = [
        (n, a) for n, a in (group_attributes(body) if body is not None else ()) if n.is_named
    ]
    if not all(_may_stand(site, node, attributes) for node, attributes in members):
        return ()
    attribute = next(a for a, cfg in site.conditions if job.cfg_requires_cuda(cfg))
    wide = node_text(attribute).replace("\r\n", "\n")
    for source, own in job.counterparts.items():
        wide = widen_condition(wide, source, own)
    of_source = [each for each in members if _is_renamed(site, each[0])]
    copied = (edit for each in of_source for edit in _copy_member(site, *each))
    return Edit(attribute.start_byte, attribute.end_byte, wide), *copied


def _is_renamed(site: Site, member: Node) -> bool:
    name = read_item_name(member)
    return site.job.rename(name) != name


def _may_stand(site: Site, member: Node, attributes: tuple[Node, ...]) -> bool:
    """Whether a member may stand for both, or be copied beside itself."""
    job = site.job
    if any(job.cfg_mentions_cuda(cfg) for _, cfg in parse_conditions(attributes)):
        return False
    return _is_renamed(site, member) or not job.is_cuda_specific(node_text(member))


def _copy_member(site: Site, member: Node, attributes: tuple[Node, ...]) -> Iterator[Edit]:
    """Yield the edits that set a member under its feature, and its copy behind it."""
    job, source = site.job, site.source
    of_source, own = next(pair for pair in job.counterparts.items() if site.requires(pair[0]))
    start = attributes[0].start_byte if attributes else member.start_byte
    indent = source.indent(start)
    symbol = "::".join(s for s in (site.scope.symbol, describe_item(site.node)) if s)
    copy = copy_range(job, source, member.start_byte, member.end_byte, member, symbol)
    head = job.rename(source.text(start, member.start_byte))
    end = source.line_tail(member.end_byte)
    yield Edit(
        member.start_byte,
        member.start_byte,
        f"#[cfg({write_feature_condition(of_source)})]\n{indent}",
    )
    yield Edit(
        end, end, f"\n\n{indent}{head}#[cfg({write_feature_condition(own)})]\n{indent}{copy}"
    )


def explain_giving_way(site: Site) -> str:
    """Return why the copy of a site is there only where the source's feature is off, or nothing."""
    if not site.is_cuda_only:
        return ""
    if is_paired(site):
        return explain_pair(site)
    return _IMPLEMENTED if explain_clash(site) and can_exclude_original(site) else ""
