"""What the members of a feature become: what ``cuda = ["cudarc", "toy/cuda"]`` is for ROCm."""

from __future__ import annotations

from portkit.context.port_job import PortJob, Site
from portkit.port import cuda_only_deps
from portkit.port.hip_bindings import FLOAT8
from portkit.port.whole_crates import is_cuda_always_compiled
from portkit.syntax.features import is_feature_spelling, parse_feature_member
from portkit.syntax.toml_nodes import find_root, read_entry_name
from portkit.workspace.cargo_resolution import (
    Manifest,
    find_declared_dependencies,
    find_requestable_features,
    join_path,
)
from portkit.workspace.cargo_workspace import Crate


def convert_member(site: Site, name: str, member: str) -> str:
    """Return what a member of a feature becomes, or an empty string to leave it out.

    A member that Cargo would not find after the port is left out.
    """
    job = site.job
    crate, _, feature = member.removeprefix("dep:").partition("/")
    crate = crate.rstrip("?")
    own = job.find_counterpart_crate(crate)
    if own:
        # `cudarc/nccl` turns the dependency on as well, where that is optional.
        on = "?" not in member and (not feature or _turns_on(site, name, crate))
        return f"dep:{own}" if on and _is_in_dependencies(site, crate) else ""
    if crate in job.vendor.dependencies:
        return ""
    if ported := _find_ported_feature(site.job, site.crate, crate, feature):
        return f"{member.removesuffix(feature)}{ported}"
    if find_cuda_only_dependency(site, member)[0] or find_compiling_crate(site, member):
        return ""
    if feature and not _find_folder(site.job, site.crate, crate):
        return ""
    asked = parse_feature_member(member)
    new = job.counterparts.get(asked, "")
    rest = member.removesuffix(asked) if new else member
    renamed = rest.replace(job.vendor.source, job.vendor.name) + new
    return renamed if _will_resolve(site, renamed) else ""


def is_member_dropped(site: Site, name: str, member: str) -> bool:
    """Whether a member that names the source vendor is left out, and nothing else says why."""
    job, crate = site.job, _find_dependency(member)
    asked = parse_feature_member(member)
    of_source = asked in job.counterparts or job.mentions_cuda(member)
    if (
        not of_source
        or asked in job.vendor.unported
        or is_external_cuda_feature(site.job, site.crate, member)
    ):
        return False
    if crate in (FLOAT8, *job.vendor.dependencies) or find_cuda_only_dependency(site, member)[0]:
        return False
    return not find_compiling_crate(site, member) and not convert_member(site, name, member)


def _is_in_dependencies(site: Site, name: str) -> bool:
    """Whether a dependency is in a table in which the port writes its counterpart (PK202)."""
    manifest = site.crate.manifest if site.crate is not None else {}
    tables = {table for table, called, _ in find_declared_dependencies(manifest) if called == name}
    alone = {read_entry_name(table) for table in find_root(site.node).named_children}
    return any(not t.startswith("target.") or f"{t}.{name}" not in alone for t in tables)


def _turns_on(site: Site, name: str, crate: str) -> bool:
    """Whether `crate/feature` is all by which a feature turns an optional dependency on."""
    manifest = site.crate.manifest if site.crate is not None else {}
    members = manifest.get("features", {}).get(name, ())
    if site.job.counterparts[name] != site.job.feature:
        entry = manifest.get("dependencies", {}).get(crate)
        members = manifest.get("features", {}).get(site.job.source_feature, ())
        asked = {member.removeprefix("dep:").partition("/")[0] for member in members}
        return isinstance(entry, dict) and bool(entry.get("optional")) and crate not in asked
    said = [entry for _, called, entry in find_declared_dependencies(manifest) if called == crate]
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
    own = {name for _, name, _ in find_declared_dependencies(site.crate.manifest)}
    if not slash:
        known = own if member.startswith("dep:") else _will_offer(job, site.crate.manifest)
        return crate in known
    manifest = job.workspace.manifests.find(_find_folder(site.job, site.crate, crate))
    if crate not in own or manifest is None:
        return False
    outside = _find_folder(site.job, site.crate, crate).startswith("../")
    return feature in (
        find_requestable_features(manifest) if outside else _will_offer(job, manifest)
    )


def _will_offer(job: PortJob, manifest: Manifest) -> set[str]:
    """Return the features that a crate of the tree has after the port."""
    offered = find_requestable_features(manifest)
    return offered | {new for old, new in job.counterparts.items() if old in offered}


def is_external_cuda_feature(job: PortJob, crate: Crate | None, member: str) -> bool:
    """Whether a member turns CUDA on in a crate that does not come from the tree.

    That of ``float8`` is known: the bindings have its types by a feature of their own.
    """
    other, _, feature = member.partition("/")
    other = other.rstrip("?")
    known = other in (FLOAT8, *job.vendor.dependencies) or job.find_counterpart_crate(other)
    of_source = feature == job.source_feature or job.mentions_cuda(feature)
    if not of_source or known or _find_ported_feature(job, crate, other, feature):
        return False
    return not _find_folder(job, crate, other)


def find_ported_crate(site: Site, member: str) -> str:
    """Return the crate of a member if it comes from a port that the tree's is built on."""
    crate, _, feature = member.partition("/")
    crate = crate.rstrip("?")
    return crate if _find_ported_feature(site.job, site.crate, crate, feature) else ""


def _find_ported_feature(job: PortJob, crate: Crate | None, dependency: str, feature: str) -> str:
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
    return ported.feature if is_feature_spelling(feature, ported.source_feature) else ""


def find_cuda_only_dependency(site: Site, member: str) -> tuple[str, str]:
    """Return the dependency of a member that exists for the source vendor alone, and why, if so."""
    name = _find_dependency(member)
    if site.crate is None:
        return ("", "")
    found = cuda_only_deps.find_cuda_only_dependencies(site.job, site.crate).get(name)
    return (name, found.reason) if found is not None else ("", "")


def is_possibly_cuda_only(site: Site, member: str) -> bool:
    """Whether a member turns on what may be the source vendor's own, and nothing tells."""
    name, crate = _find_dependency(member), site.crate
    if crate is None or "/" in member or find_cuda_only_dependency(site, member)[0]:
        return False
    return name in cuda_only_deps.find_optional_cuda_dependencies(
        site.job, crate
    ) and not cuda_only_deps.is_in_lock_file(site.job, crate, name)


def find_compiling_crate(site: Site, member: str) -> str:
    """Return the crate of the tree that a member turns on if that always compiles for CUDA.

    One that has a counterpart is none, and so is one that other builds take as well.
    """
    job, name = site.job, _find_dependency(member)
    if site.crate is None or job.find_counterpart_crate(name):
        return ""
    said = job.workspace.dependency(site.crate, name)
    package = str(said.get("package", name))
    crate = next((each for each in job.workspace.crates if each.name == package), None)
    if crate is None or crate == site.crate or not said.get("optional"):
        return ""
    always = is_cuda_always_compiled(job.workspace, job.vendor, job.codebase, crate)
    return package if always else ""


def _find_dependency(member: str) -> str:
    return member.removeprefix("dep:").partition("/")[0].rstrip("?")


def _find_folder(job: PortJob, crate: Crate | None, dependency: str) -> str:
    """Return the folder of a dependency that has a path, from the root; empty for others."""
    workspace = job.workspace
    if crate is None:
        return ""
    for _, name, said in find_declared_dependencies(crate.manifest):
        if name == dependency:
            home = crate.directory
            if said.get("workspace") is True:
                home = "."
                said = workspace.manifest.get("workspace", {}).get("dependencies", {}).get(name)
            if isinstance(said, dict) and isinstance(said.get("path"), str):
                return join_path(home, said["path"])
    return ""
