"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:toy-kernels", "toy/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
So does the feature of a library that has one, as ``nccl = ["cuda", "cudarc/nccl"]`` gains ``rccl``.
Crates that exist only to compile or bind CUDA are left out.

What turns CUDA on in a crate from elsewhere is left out, and a person sees what that crate has: a
feature that it lacks would break each build. Where the crate has a path it is written, and so it
is where the profile names the codebase that the crate is of (``uses``). A dependency that CUDA's
features alone turn on, and that leads to CUDA by Cargo.lock, is left out as well.

A feature that asks for something of cudarc only where that is on, as ``std = ["cudarc?/std"]``
does, is left alone: the HIP bindings are the same with any features of the tree. The ``metadata``
of a manifest is for other tools than Cargo, and is left alone.

Not handled: a feature that turns CUDA's on, such as ``default = ["cuda"]``, or is named after CUDA,
which is left to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import bound
from portkit.copying.bindings import FLOAT8
from portkit.lang.features import asked_by
from portkit.lang.toml import bare, end_of, key_of, strings, table_of, value_of
from portkit.lang.toml import written as key
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
    written = job.counterparts
    if name in job.vendor.unported:
        yield Keep(construct, job.vendor.unported[name], symbol=name)
    elif name in written:
        asked = strings(value_of(site.node))
        members = dict.fromkeys(m for s in asked if (m := _counterpart(site, name, s)))
        listed = ", ".join(f'"{member}"' for member in members)
        message = f"the feature {written[name]} asks for the counterparts"
        elsewhere = [member for member in asked if _is_elsewhere(site, member)]
        if elsewhere:
            message += (
                f"; {' and '.join(elsewhere)} is left out, since the tree does not tell whether"
                f" that crate has a feature for {job.vendor.title}: see, and add it by hand"
            )
        taken = sorted({crate for m in asked if (crate := _from_port(site, m))})
        if taken:
            message += f"; {' and '.join(taken)} must come from the port of the codebase it is of"
        alone = [found for member in asked if (found := _bound(site, member))[0]]
        if alone:
            message += f"; left out are {' and '.join(n for n, _ in alone)}: {alone[0][1]}"
        unclear = [member for member in asked if _is_unclear(site, member)]
        if unclear:
            message += (
                f"; only CUDA's features turn {' and '.join(unclear)} on, and no Cargo.lock tells"
                " what for: see whether it is CUDA's"
            )
        yield Add(
            construct,
            message,
            symbol=written[name],
            review=bool(elsewhere or unclear),
            text=f"\n{key(written[name])} = [{listed}]",
            at=end_of(site.node),
            name=written[name],
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


def _counterpart(site: Site, name: str, member: str) -> str:
    """Return what a member of a feature becomes, or an empty string to leave it out.

    A feature of a crate that the port does not write is left out: only the crates of the tree gain
    the feature.

    Args:
        site: the feature.
        name: what it is called.
        member: what it asks for.
    """
    job = site.job
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    counterpart = job.written_crate(crate)
    if counterpart:
        # `cudarc/nccl` turns the dependency on as well, where that is optional.
        on = not feature or (name != job.source_feature and _only_here(site, crate))
        return f"dep:{counterpart}" if on and "?" not in member else ""
    if crate in job.vendor.dependencies:
        return ""
    if ported := _ported(site, crate, feature):
        return f"{member.removesuffix(feature)}{ported}"
    if feature and not _in_tree(site, crate):
        return ""
    if _bound(site, member)[0]:
        return ""
    asked = asked_by(member)
    new = job.counterparts.get(asked, "")
    rest = member.removesuffix(asked) if new else member
    return rest.replace(job.vendor.source, job.vendor.name) + new


def _only_here(site: Site, dependency: str) -> bool:
    """Whether a dependency is optional, and CUDA's feature does not ask for it."""
    manifest = site.crate.manifest if site.crate is not None else {}
    entry = manifest.get("dependencies", {}).get(dependency)
    members = manifest.get("features", {}).get(site.job.source_feature, ())
    asked = {member.removeprefix("dep:").partition("/")[0] for member in members}
    return isinstance(entry, dict) and bool(entry.get("optional")) and dependency not in asked


def _is_elsewhere(site: Site, member: str) -> bool:
    """Whether a member turns CUDA on in a crate that does not come from the tree.

    That of ``float8`` is known: the bindings have its types by a feature of their own.
    """
    crate, _, feature = member.partition("/")
    crate = crate.rstrip("?")
    known = crate in (FLOAT8, *site.job.vendor.dependencies) or site.job.written_crate(crate)
    of_source = feature == site.job.source_feature or site.job.names_source(feature)
    if not of_source or known or _ported(site, crate, feature):
        return False
    return not _in_tree(site, crate)


def _from_port(site: Site, member: str) -> str:
    crate, _, feature = member.partition("/")
    crate = crate.rstrip("?")
    return crate if _ported(site, crate, feature) else ""


def _ported(site: Site, dependency: str, feature: str) -> str:
    """Return what a feature of a dependency is called in a port that the tree's is built on."""
    if not feature or site.crate is None:
        return ""
    said = site.job.workspace.dependency(site.crate, dependency)
    package = str(said.get("package", dependency))
    ported = site.job.codebase.ported.get(package)
    return ported.feature if ported is not None and feature == ported.source_feature else ""


def _bound(site: Site, member: str) -> tuple[str, str]:
    """Return the dependency of a member that exists for the source vendor alone, and why, if so."""
    name = _dependency(member)
    if site.crate is None:
        return ("", "")
    found = bound.dependencies(site.job, site.crate).get(name)
    return (name, found.reason) if found is not None else ("", "")


def _is_unclear(site: Site, member: str) -> bool:
    """Whether a member turns on what may be the source vendor's own, and nothing tells."""
    name, crate = _dependency(member), site.crate
    if crate is None or "/" in member or _bound(site, member)[0]:
        return False
    return name in bound.only_for_source(site.job, crate) and not bound.is_known(
        site.job, crate, name
    )


def _dependency(member: str) -> str:
    return member.removeprefix("dep:").partition("/")[0].rstrip("?")


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
