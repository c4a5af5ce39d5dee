"""What the members of a feature become: what ``cuda = ["cudarc", "toy/cuda"]`` is for ROCm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.copying import bound
from portkit.copying.bindings import FLOAT8
from portkit.copying.whole_crates import always_compiles
from portkit.lang.features import asked_by, is_spelt

if TYPE_CHECKING:
    from portkit.site.context import Site


def counterpart(site: Site, name: str, member: str) -> str:
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
    own = job.written_crate(crate)
    if own:
        # `cudarc/nccl` turns the dependency on as well, where that is optional.
        alone = job.counterparts[name] != job.feature
        on = not feature or (alone and _only_here(site, crate))
        return f"dep:{own}" if on and "?" not in member else ""
    if crate in job.vendor.dependencies:
        return ""
    if ported := _ported(site, crate, feature):
        return f"{member.removesuffix(feature)}{ported}"
    if feature and not _in_tree(site, crate):
        return ""
    if bound_dependency(site, member)[0] or compiles(site, member):
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


def is_elsewhere(site: Site, member: str) -> bool:
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


def from_port(site: Site, member: str) -> str:
    """Return the crate of a member if it comes from a port that the tree's is built on."""
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
    if ported is None:
        return ""
    if feature in site.job.counterparts and feature in ported.libraries:
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


def _in_tree(site: Site, dependency: str) -> bool:
    """Whether a dependency is a crate of the tree: it has a path, here or in the workspace."""
    tables = [site.job.workspace.manifest.get("workspace", {})]
    if site.crate is not None:
        tables.append(site.crate.manifest)
    return any(
        isinstance(entry := table.get("dependencies", {}).get(dependency), dict) and "path" in entry
        for table in tables
    )
