"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:toy-kernels", "toy/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
Crates that exist only to compile or bind CUDA are left out.

What turns CUDA on in a crate from elsewhere is left out, and a person sees what that crate has: a
feature that it lacks would break each build. Where the crate has a path it is written.

A feature that asks for something of cudarc only where that is on, as ``std = ["cudarc?/std"]``
does, is left alone: the HIP bindings are the same with any features of the tree. The ``metadata``
of a manifest is for other tools than Cargo, and is left alone.

Not handled: a feature that turns CUDA's on, such as ``default = ["cuda"]``, or is named after CUDA,
which is left to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying.bindings import FLOAT8
from portkit.lang.features import asked_by
from portkit.lang.toml import bare, end_of, key_of, strings, table_of, value_of, written
from portkit.rules import SiteRule
from portkit.site.intent import Add, Ask, Intent, Keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a feature in a manifest that names the source vendor."""
    job, table = site.job, table_of(site.node)
    if ".metadata" in table or key_of(site.node).startswith("metadata."):
        kept = "Cargo reads no metadata: add ROCm's feature where the tool that does should"
        yield Keep("metadata in Cargo.toml", kept, symbol=bare(key_of(site.node)))
    if table != "features":
        return
    name, construct = bare(key_of(site.node)), "feature in Cargo.toml"
    if name in job.vendor.unported:
        yield Keep(construct, job.vendor.unported[name], symbol=name)
    elif name == job.source_feature:
        asked = strings(value_of(site.node))
        listed = ", ".join(f'"{m}"' for s in asked if (m := _counterpart(site, s)))
        message = f"the feature {job.feature} asks for the counterparts"
        elsewhere = [member for member in asked if _is_elsewhere(site, member)]
        if elsewhere:
            message += (
                f"; {' and '.join(elsewhere)} is left out, since the tree does not tell whether"
                f" that crate has a feature for {job.vendor.title}: see, and add it by hand"
            )
        yield Add(
            construct,
            message,
            symbol=job.feature,
            review=bool(elsewhere),
            text=f"\n{written(job.feature)} = [{listed}]",
            at=end_of(site.node),
            name=job.feature,
        )
    elif _names_source(site):
        yield from _beside(site, name, construct)
    elif job.names_peer(site.code):
        yield Keep(construct, "it belongs to a peer; ROCm follows CUDA", symbol=name)


def _names_source(site: Site) -> bool:
    return site.job.names_source(site.code) or any(
        _is_of_source(site, member) for member in strings(value_of(site.node))
    )


def _beside(site: Site, name: str, construct: str) -> Iterator[Intent]:
    """Find a feature of its own that asks for something of the source vendor's."""
    job = site.job
    asked = [m for m in strings(value_of(site.node)) if _is_of_source(site, m)]
    if asked and not job.names_source(name) and all(_is_weak(site, m) for m in asked):
        listed = " and ".join(asked)
        kept = f"{listed} is asked for where CUDA is on alone, and the HIP bindings need no other"
        yield Keep(construct, kept, symbol=name)
    else:
        ask = f"it turns CUDA on, or is named after it: see what turns {job.feature} on, by hand"
        yield Ask(construct, ask, symbol=name)


def _is_of_source(site: Site, member: str) -> bool:
    return site.job.names_source(member) or asked_by(member) == site.job.source_feature


def _is_weak(site: Site, member: str) -> bool:
    """Whether a member says what a crate of the source vendor's is like, and does not turn it on.

    Source: the Cargo book, chapter "Features", section "Dependency features".
    """
    crate, weak, feature = member.partition("?/")
    return bool(weak) and feature != FLOAT8 and crate in site.job.vendor.dependencies


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


def _is_elsewhere(site: Site, member: str) -> bool:
    """Whether a member turns CUDA on in a crate that does not come from the tree.

    That of ``float8`` is known: the bindings have its types by a feature of their own.
    """
    crate, _, feature = member.partition("/")
    crate = crate.rstrip("?")
    known = crate in (FLOAT8, *site.job.vendor.dependencies) or site.job.written_crate(crate)
    return feature == site.job.source_feature and not known and not _in_tree(site, crate)


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
