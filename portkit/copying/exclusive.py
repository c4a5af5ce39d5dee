"""What cannot stand beside its copy: where both features are on, one of the two gives way.

What the profile calls exclusive gives way to its copy. What is one of a pair, under the source's
feature and where that is off, says that one answer is wanted: there the copy gives way, and a
person looks at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying.standing import name_of
from portkit.lang.cfg import WITH_OWN, attributes_of, conditions_of
from portkit.lang.imports import brought_in
from portkit.lang.source import node_text
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

    from portkit.lang.cfg import Cfg
    from portkit.profile.entries import Exclusive
    from portkit.site.context import Job, Site


def of(site: Site) -> Exclusive | None:
    """Return the profile's word that a site cannot stand beside its copy, if there is one."""
    if not site.is_source:
        return None
    return next(
        (e for e in site.job.codebase.exclusives if e.applies(site.source.path, site.scope.symbol)),
        None,
    )


def giving_way(site: Site) -> tuple[Edit, ...]:
    """Return the edit that takes a site away where its copy stands: with both features on."""
    source, written = site.job.source_feature, site.job.feature
    if any(cfg.forbids(written) for _, cfg in site.conditions):
        return ()
    attribute = next(attribute for attribute, cfg in site.conditions if site.job.of_source(cfg))
    new = re.sub(_option(source), _without(source, written), node_text(attribute), count=1)
    return (Edit(attribute.start_byte, attribute.end_byte, new),)


def is_paired(site: Site) -> bool:
    """Whether all that a site names is there where the source's feature is off too, or the reverse.

    It is so of ``#[cfg(feature = "cuda")] type Device = Cuda`` beside ``#[cfg(not(feature =
    "cuda"))] type Device = Cpu``. What renaming tells apart is no pair: its copy stands beside it.
    """
    return is_pair(site, site.node, site.conditions)


def is_pair(site: Site, node: Node, conditions: Iterable[tuple[Node, Cfg]]) -> bool:
    """Whether what stands beside a site under some conditions is one of a pair; see `is_paired`."""
    own = _sides_of(site.job, conditions)
    names = _names(node)
    if len(own) != 1 or not names or any(site.job.rename(name) != name for name in names):
        return False
    sides = site.once("sides", site.container, make=lambda: _sides(site))
    return all((name, not side) in sides for name in names for side in own)


def giving_way_itself(site: Site, text: str) -> str:
    """Return the copy of one of a pair, as it stands where the source's feature is off."""
    source, own = site.job.source_feature, site.job.feature
    head, opening, rest = text.partition("#[cfg")
    return head + opening + re.sub(_option(own), _without(own, source), rest, count=1)


def copy(site: Site, text: str) -> str:
    """Return the copy of a site that may give way to it, under the written vendor's feature."""
    own = site.job.feature
    if not any(cfg.forbids(own) for _, cfg in site.conditions):
        return text
    # Beside other conditions as well: a copy under `not(feature = "rocm")` would exist nowhere.
    absent = rf"not\s*\(\s*{_option(own)}\s*,?\s*\)"
    both = rf"all\s*\(\s*({_option(own)})\s*,\s*{absent}\s*\)"
    plain = re.sub(both, r"\1", text)
    return re.sub(rf",\s*{absent}|{absent}\s*,\s*", "", plain)


def _option(feature: str) -> str:
    """Return a pattern for what asks for a feature, however it is spaced."""
    return rf'feature\s*=\s*"{re.escape(feature)}"'


def _without(feature: str, other: str) -> str:
    return f'all(feature = "{feature}", not(feature = "{other}"))'


def _sides(site: Site) -> frozenset[tuple[str, bool]]:
    """Return what stands beside a site under the source's feature, or where that is off."""
    return frozenset(
        (name, side)
        for node, attributes in site.siblings
        if attributes or node.type in WITH_OWN
        for side in _sides_of(site.job, conditions_of(attributes_of(node, attributes)))
        for name in _names(node)
    )


def _sides_of(job: Job, conditions: Iterable[tuple[Node, Cfg]]) -> frozenset[bool]:
    """Return true for the source's feature, false for where that is off; both where nothing is."""
    cfgs = [cfg for _, cfg in conditions]
    if any(job.of_written(cfg) for cfg in cfgs):
        return frozenset()
    sides = {True: lambda cfg: job.of_source(cfg) or job.of_both(cfg), False: job.without_source}
    return frozenset(side for side, stands in sides.items() if any(map(stands, cfgs)))


def _names(node: Node) -> list[str]:
    """Return what a node is called, or brings in; macros may stand twice, and so may ``_``."""
    if node.type == "use_declaration":
        return [name for name in brought_in(node) if name != "_"]
    return [name for name in [name_of(node)] if name and node.type != "macro_definition"]
