"""Features of a crate that turn on what exists for the source vendor alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.port import cuda_only_deps

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob
    from portkit.workspace.cargo_workspace import Crate


def explain_cuda_only_feature(job: PortJob, crate: Crate, feature: str) -> str:
    """Return why a feature turns on what CUDA alone has, and nothing else, if it does.

    ``fast = ["cuda", "dep:swift-norm"]`` does, and so does a feature of another
    crate of the tree that turns on CUDA and that one.
    """
    return _of_feature(job, crate, feature, frozenset())


def _of_feature(job: PortJob, crate: Crate, feature: str, seen: frozenset[tuple[str, str]]) -> str:
    key = (crate.directory, feature)
    members = crate.manifest.get("features", {}).get(feature, ())
    rest = [m for m in members if m not in job.counterparts]
    if key in seen or not rest or not any(m == job.source_feature for m in members):
        return ""
    reasons = [_of_member(job, crate, member, seen | {key}) for member in rest]
    return reasons[0] if all(reasons) else ""


def _of_member(job: PortJob, crate: Crate, member: str, seen: frozenset[tuple[str, str]]) -> str:
    name, _, feature = member.removeprefix("dep:").partition("/")
    name = name.rstrip("?")
    if (found := cuda_only_deps.find_cuda_only_dependencies(job, crate).get(name)) is not None:
        return found.reason
    package = str(job.workspace.dependency(crate, name).get("package", name))
    below = next((c for c in job.workspace.crates if c.name == package), None)
    if not feature or below is None:
        return ""
    return _of_feature(job, below, feature, seen)
