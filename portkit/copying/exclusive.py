"""What cannot stand beside its copy, and gives way to it where both features are on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.lang.source import node_text
from portkit.tree.finding import Edit

if TYPE_CHECKING:
    from portkit.profile.entries import Exclusive
    from portkit.site.context import Site


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
    new = node_text(attribute).replace(f'feature = "{source}"', _without(source, written), 1)
    return (Edit(attribute.start_byte, attribute.end_byte, new),)


def copy(site: Site, text: str) -> str:
    """Return the copy of a site that may give way to it, under the written vendor's feature."""
    own = site.job.feature
    if not any(cfg.forbids(own) for _, cfg in site.conditions):
        return text
    plain = text.replace(_without(own, own), f'feature = "{own}"')
    # Beside other conditions as well: a copy under `not(feature = "rocm")` would exist nowhere.
    absent = rf'not\(\s*feature\s*=\s*"{re.escape(own)}"\s*,?\s*\)'
    return re.sub(rf",\s*{absent}|{absent}\s*,\s*", "", plain)


def _without(feature: str, other: str) -> str:
    return f'all(feature = "{feature}", not(feature = "{other}"))'
