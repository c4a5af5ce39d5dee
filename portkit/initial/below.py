"""What a tree has from a port that lies beside it: a ported crate, and the HIP bindings."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from portkit.codebases.known import named
from portkit.copying.bindings import takes
from portkit.fetch.workspace import published_crates
from portkit.initial.draft import Said
from portkit.profile.profile import load_codebase
from portkit.tree import lock
from portkit.tree.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.scan.scan import Scan
    from portkit.site.context import Job


def ported_beside(after: Scan, codebase: str) -> str:
    """Return a folder outside the tree that a manifest names, with a ported crate of a codebase.

    Args:
        after: a scan of the tree with its profile.
        codebase: a codebase that the profile ``uses``.

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


def wanted(after: Scan, codebase: str) -> Iterator[str]:
    """Yield the lines by which a tree takes a codebase from a port beside it, and what makes that.

    Args:
        after: a scan of the tree with its profile.
        codebase: a codebase that the profile ``uses``.
    """
    workspace, ported = after.job.workspace, after.job.codebase.ported
    directory, place = named(codebase), f"../{codebase}"
    found = lock.version(workspace.root, load_codebase(directory).crate) or "VERSION"
    fetched = f"`portkit fetch {codebase}@{found} {place}`, " if published_crates(directory) else ""
    yield f"{fetched}`portkit apply {place}`, and in the root manifest:"
    yield "  [patch.crates-io]"
    for crate in sorted(name for name, each in ported.items() if each.codebase == codebase):
        if workspace.depends_on({crate}):
            yield f'  {crate} = {{ path = "{place}/{crate}" }}'


def takes_bindings(job: Job) -> bool:
    """Whether the tree asks for what the HIP bindings stand for by itself."""
    return takes(job.workspace, job.vendor, job.codebase)


def bindings_beside(job: Job, codebase: str) -> Said | None:
    """Return where the port of a codebase beside the tree has its bindings, from the root.

    A tree on top of that port has to take those: with a copy of its own, a stream of the one would
    be no stream of the other.
    """
    package = load_codebase(named(codebase)).bindings
    for path in sorted(job.workspace.outside):
        place = posixpath.normpath(posixpath.join(path, "..", package))
        if (job.workspace.root / place / "Cargo.toml").is_file():
            return Said(place, f"those of the port of {codebase}, whose types its crates take")
    return None
