"""The features without which Cargo does not build a target.

Source: the Cargo book, chapter "Cargo Targets", key ``required-features`` and section "Target
auto-discovery".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob

_KINDS: Final = {"bin": "src/bin", "example": "examples", "test": "tests", "bench": "benches"}


def list_required_features(job: PortJob, path: str) -> tuple[str, ...]:
    """Return the features that the target of a file requires; none for a file of a library."""
    crate = job.workspace.crate_of(path)
    if crate is None:
        return ()
    inside = path.removeprefix(f"{crate.directory}/")
    for kind, folder in _KINDS.items():
        targets = crate.manifest.get(kind, ())
        for target in targets if isinstance(targets, list) else ():
            if not isinstance(target, dict):
                continue
            name, given = target.get("name", ""), target.get("path")
            paths = (given,) if given else (f"{folder}/{name}.rs", f"{folder}/{name}/main.rs")
            asked = target.get("required-features", ())
            if inside in paths and isinstance(asked, list):
                return tuple(each for each in asked if isinstance(each, str))
    return ()
