"""What a tree has from a port that lies beside it: a ported crate, and the HIP bindings."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from portkit.codebases.registry import find_codebase
from portkit.context.port_job import PortJob
from portkit.engine.scan import Scan
from portkit.fetch.workspace import list_published_crates
from portkit.init.draft import Inferred
from portkit.port.hip_bindings import has_bindings_dependency
from portkit.profiles.profile import load_codebase
from portkit.workspace import lock_file
from portkit.workspace.manifest import parse_manifest


def find_ported_folder(after: Scan, codebase: str) -> str:
    """Return a folder outside the tree that a manifest names, with a ported crate of a codebase.

    Returns:
        The folder, from the root; empty where there is none.
    """
    ported, workspace = after.job.codebase.ported, after.job.workspace
    for path in sorted(workspace.outside):
        try:
            manifest = parse_manifest((workspace.root / path / "Cargo.toml").read_bytes())
        except (OSError, ValueError):
            continue
        known = ported.get(str(manifest.get("package", {}).get("name")))
        if known and known.codebase == codebase and known.feature in manifest.get("features", {}):
            return path
    return ""


def list_missing_dependencies(after: Scan, codebase: str) -> Iterator[str]:
    """Yield the lines by which a tree takes a codebase from a port beside it."""
    workspace, ported = after.job.workspace, after.job.codebase.ported
    directory, place = find_codebase(codebase), f"../{codebase}"
    found = (
        lock_file.find_locked_version(workspace.root, load_codebase(directory).crate) or "VERSION"
    )
    fetched = (
        f"`portkit fetch {codebase}@{found} {place}`, " if list_published_crates(directory) else ""
    )
    yield f"{fetched}`portkit apply {place}`, and in the root manifest:"
    yield "  [patch.crates-io]"
    for crate in sorted(name for name, each in ported.items() if each.codebase == codebase):
        if workspace.depends_on_crate({crate}):
            yield f'  {crate} = {{ path = "{place}/{crate}" }}'


def uses_bindings(job: PortJob) -> bool:
    """Whether the tree asks for what the HIP bindings stand for by itself."""
    return has_bindings_dependency(job.workspace, job.vendor, job.codebase)


def find_bindings_beside(job: PortJob, codebase: str) -> Inferred | None:
    """Return where the port of a codebase beside the tree has its bindings, from the root.

    A tree on top of that port has to take those: with a copy of its own, a stream of the one would
    be no stream of the other.
    """
    package = load_codebase(find_codebase(codebase)).bindings
    for path in sorted(job.workspace.outside):
        place = posixpath.normpath(posixpath.join(path, "..", package))
        if (job.workspace.root / place / "Cargo.toml").is_file():
            return Inferred(place, f"those of the port of {codebase}, whose types its crates take")
    return None
