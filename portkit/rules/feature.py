"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:toy-kernels", "toy/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
Crates that exist only to compile or bind CUDA are left out.

Not handled: features that only turn it on, such as ``default = ["cuda"]``, which are listed as
unaccounted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.lang.features import asked_by
from portkit.lang.toml import bare, end_of, key_of, strings, table_of, value_of, written
from portkit.rules import SiteRule
from portkit.site.intent import Add, Intent, Keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a feature in a manifest that names the source vendor."""
    job = site.job
    if table_of(site.node) != "features":
        return
    name, construct = bare(key_of(site.node)), "feature in Cargo.toml"
    if name in job.vendor.unported:
        yield Keep(construct, job.vendor.unported[name], symbol=name)
    elif name == job.source_feature:
        members = [m for s in strings(value_of(site.node)) if (m := _counterpart(site, s))]
        listed = ", ".join(f'"{m}"' for m in members)
        yield Add(
            construct,
            f"the feature {job.feature} asks for the counterparts",
            symbol=job.feature,
            text=f"\n{written(job.feature)} = [{listed}]",
            at=end_of(site.node),
            name=written(job.feature),
        )
    elif not _names_source(site) and job.names_peer(site.code):
        yield Keep(construct, "it belongs to a peer; ROCm follows CUDA", symbol=name)


def _names_source(site: Site) -> bool:
    asked = map(asked_by, strings(value_of(site.node)))
    return site.job.names_source(site.code) or site.job.source_feature in asked


def _counterpart(site: Site, member: str) -> str:
    """Return what a member of the CUDA feature becomes, or an empty string to leave it out.

    A feature of a crate that the port does not write is left out: only the crates of the tree gain
    the feature.
    """
    job = site.job
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    counterpart = job.written_crate(crate)
    if counterpart:
        return "" if feature else f"dep:{counterpart}"
    if crate in job.vendor.dependencies:
        return ""
    if feature and not _in_tree(site, crate):
        return ""
    asked = asked_by(member)
    own = asked == job.source_feature
    rest = member.removesuffix(asked) if own else member
    return rest.replace(job.vendor.source, job.vendor.name) + (job.feature if own else "")


def _in_tree(site: Site, dependency: str) -> bool:
    """Whether a dependency is a crate of the tree: it has a path, here or in the workspace."""
    tables = [site.job.workspace.manifest.get("workspace", {})]
    if site.crate is not None:
        tables.append(site.crate.manifest)
    return any(
        isinstance(entry := table.get("dependencies", {}).get(dependency), dict) and "path" in entry
        for table in tables
    )


RULE = SiteRule("PK201", frozenset({"pair"}), check)
