"""What the members of a feature become: what ``cuda = ["cudarc", "toy/cuda"]`` is for ROCm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import bound
from portkit.copying.bindings import FLOAT8
from portkit.copying.whole_crates import always_compiles
from portkit.lang.features import asked_by, is_spelt
from portkit.lang.toml import name_of, root_of
from portkit.tree.resolution import declared, join, offered_features

if TYPE_CHECKING:
    from portkit.site.context import Job, Site
    from portkit.tree.resolution import Manifest
    from portkit.tree.workspace import Crate


def counterpart(site: Site, name: str, member: str) -> str:
    """Return what a member of a feature becomes, or an empty string to leave it out.

    A member that Cargo would not find after the port is left out.

    Args:
        site: the feature.
        name: what it is called.
        member: what it asks for.
    """
    job = site.job
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    own = job.written_crate(crate)
    if own:
        # `cudarc/nccl` turns the dependency on as well, where that is optional.
        on = "?" not in member and (not feature or _turns_on(site, name, crate))
        return f"dep:{own}" if on and _is_in_dependencies(site, crate) else ""
    if crate in job.vendor.dependencies:
        return ""
    if ported := _ported(site.job, site.crate, crate, feature):
        return f"{member.removesuffix(feature)}{ported}"
    if bound_dependency(site, member)[0] or compiles(site, member):
        return ""
    if feature and not _path(site.job, site.crate, crate):
        return ""
    asked = asked_by(member)
    new = job.counterparts.get(asked, "")
    rest = member.removesuffix(asked) if new else member
    renamed = rest.replace(job.vendor.source, job.vendor.name) + new
    return renamed if _will_resolve(site, renamed) else ""


def is_lost(site: Site, name: str, member: str) -> bool:
    """Whether a member that names the source vendor is left out, and nothing else says why.

    Args:
        site: the feature.
        name: what it is called.
        member: what it asks for.
    """
    job, crate = site.job, _dependency(member)
    asked = asked_by(member)
    of_source = asked in job.counterparts or job.names_source(member)
    if not of_source or asked in job.vendor.unported or is_elsewhere(site.job, site.crate, member):
        return False
    if crate in (FLOAT8, *job.vendor.dependencies) or bound_dependency(site, member)[0]:
        return False
    return not compiles(site, member) and not counterpart(site, name, member)


def _is_in_dependencies(site: Site, name: str) -> bool:
    """Whether a dependency is in a table in which the port writes its counterpart (PK202)."""
    manifest = site.crate.manifest if site.crate is not None else {}
    tables = {table for table, called, _ in declared(manifest) if called == name}
    alone = {name_of(table) for table in root_of(site.node).named_children}
    return any(not t.startswith("target.") or f"{t}.{name}" not in alone for t in tables)


def _turns_on(site: Site, name: str, crate: str) -> bool:
    """Whether `crate/feature` is all by which a feature turns an optional dependency on."""
    manifest = site.crate.manifest if site.crate is not None else {}
    members = manifest.get("features", {}).get(name, ())
    if site.job.counterparts[name] != site.job.feature:
        return _only_here(site, crate)
    said = [entry for _, called, entry in declared(manifest) if called == crate]
    optional = any(entry.get("optional") is True for entry in said)
    return optional and not {crate, f"dep:{crate}"} & {*members}


def _will_resolve(site: Site, member: str) -> bool:
    """Whether Cargo finds what a member names, after the port.

    What a crate of the tree gains with the port counts: a feature for each of the source's.
    """
    job = site.job
    if site.crate is None:
        return False
    crate, slash, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    own = {name for _, name, _ in declared(site.crate.manifest)}
    if not slash:
        known = own if member.startswith("dep:") else _will_offer(job, site.crate.manifest)
        return crate in known
    manifest = job.workspace.manifests.find(_path(site.job, site.crate, crate))
    if crate not in own or manifest is None:
        return False
    outside = _path(site.job, site.crate, crate).startswith("../")
    return feature in (offered_features(manifest) if outside else _will_offer(job, manifest))


def _will_offer(job: Job, manifest: Manifest) -> set[str]:
    """Return the features that a crate of the tree has after the port."""
    offered = offered_features(manifest)
    return offered | {new for old, new in job.counterparts.items() if old in offered}


def _only_here(site: Site, dependency: str) -> bool:
    """Whether a dependency is optional, and CUDA's feature does not ask for it."""
    manifest = site.crate.manifest if site.crate is not None else {}
    entry = manifest.get("dependencies", {}).get(dependency)
    members = manifest.get("features", {}).get(site.job.source_feature, ())
    asked = {member.removeprefix("dep:").partition("/")[0] for member in members}
    return isinstance(entry, dict) and bool(entry.get("optional")) and dependency not in asked


def is_elsewhere(job: Job, crate: Crate | None, member: str) -> bool:
    """Whether a member turns CUDA on in a crate that does not come from the tree.

    That of ``float8`` is known: the bindings have its types by a feature of their own.

    Args:
        job: the job.
        crate: the crate of the feature.
        member: what the feature asks for, such as ``other/cuda``.
    """
    other, _, feature = member.partition("/")
    other = other.rstrip("?")
    known = other in (FLOAT8, *job.vendor.dependencies) or job.written_crate(other)
    of_source = feature == job.source_feature or job.names_source(feature)
    if not of_source or known or _ported(job, crate, other, feature):
        return False
    return not _path(job, crate, other)


def from_port(site: Site, member: str) -> str:
    """Return the crate of a member if it comes from a port that the tree's is built on."""
    crate, _, feature = member.partition("/")
    crate = crate.rstrip("?")
    return crate if _ported(site.job, site.crate, crate, feature) else ""


def _ported(job: Job, crate: Crate | None, dependency: str, feature: str) -> str:
    """Return what a feature of a dependency is called in a port that the tree's is built on."""
    if not feature or crate is None:
        return ""
    said = job.workspace.dependency(crate, dependency)
    package = str(said.get("package", dependency))
    ported = job.codebase.ported.get(package)
    if ported is None:
        return ""
    if feature in job.counterparts and feature in ported.libraries:
        return ported.libraries[feature]
    return ported.feature if is_spelt(feature, ported.source_feature) else ""


def bound_dependency(site: Site, member: str) -> tuple[str, str]:
    """Return the dependency of a member that exists for the source vendor alone, and why, if so."""
    name = _dependency(member)
    if site.crate is None:
        return ("", "")
    found = bound.dependencies(site.job, site.crate).get(name)
    return (name, found.reason) if found is not None else ("", "")


def is_unclear(site: Site, member: str) -> bool:
    """Whether a member turns on what may be the source vendor's own, and nothing tells."""
    name, crate = _dependency(member), site.crate
    if crate is None or "/" in member or bound_dependency(site, member)[0]:
        return False
    return name in bound.only_for_source(site.job, crate) and not bound.is_known(
        site.job, crate, name
    )


def compiles(site: Site, member: str) -> str:
    """Return the crate of the tree that a member turns on if that always compiles for CUDA.

    One that has a counterpart is none, and so is one that other builds take as well.
    """
    job, name = site.job, _dependency(member)
    if site.crate is None or job.written_crate(name):
        return ""
    said = job.workspace.dependency(site.crate, name)
    package = str(said.get("package", name))
    crate = next((each for each in job.workspace.crates if each.name == package), None)
    if crate is None or crate == site.crate or not said.get("optional"):
        return ""
    always = always_compiles(job.workspace, job.vendor, job.codebase, crate)
    return package if always else ""


def _dependency(member: str) -> str:
    return member.removeprefix("dep:").partition("/")[0].rstrip("?")


def _path(job: Job, crate: Crate | None, dependency: str) -> str:
    """Return the folder of a dependency that has a path, from the root; empty for others."""
    workspace = job.workspace
    if crate is None:
        return ""
    for _, name, said in declared(crate.manifest):
        if name == dependency:
            home = crate.directory
            if said.get("workspace") is True:
                home = "."
                said = workspace.manifest.get("workspace", {}).get("dependencies", {}).get(name)
            if isinstance(said, dict) and isinstance(said.get("path"), str):
                return join(home, said["path"])
    return ""
