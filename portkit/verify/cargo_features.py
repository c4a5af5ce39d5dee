"""Choose cargo's features for a step, without CUDA unless the step needs it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from portkit.syntax.features import enables_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portkit.verify.verified_tree import VerifiedTree
    from portkit.workspace.cargo_workspace import Crate


def select_features(
    tree: VerifiedTree, *features: str, among: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the arguments of cargo that turn some features on, and no more of CUDA than these.

    Where the default of a crate turns CUDA on, each build would need its toolkit: then defaults are
    off, and what else is among them is named, by its crate (The Cargo Book, "Features", section
    "Command line feature options").
    """
    source, listed = tree.source_feature, list(features)
    crates = {
        crate.name: crate.manifest.get("features", {})
        for crate in tree.scan.job.workspace.crates
        if _is_selected(tree, crate, among or tree.options.packages)
    }
    by_default = any(enables_any(has, "default", (source,)) for has in crates.values())
    if by_default:
        listed += (
            f"{crate}/{name}"
            for crate, has in crates.items()
            for name in has.get("default", ())
            if name in has and not enables_any(has, name, (source,))
        )
    asked = f"--features={','.join(listed)}"
    return ("--no-default-features", asked) if by_default else (asked,)


def _is_selected(tree: VerifiedTree, crate: Crate, named: Sequence[str]) -> bool:
    """Whether cargo looks at a crate: one that is named, else a member of the workspace."""
    if named:
        return crate.name in named
    members = tree.scan.job.workspace.manifest.get("workspace", {}).get("members", ())
    place = PurePosixPath(crate.directory)
    return crate.directory == "." or any(place.match(str(pattern)) for pattern in members)
