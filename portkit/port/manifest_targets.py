"""The target of a manifest that a file belongs to, and the features that it requires."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from portkit.context.port_job import PortJob
from portkit.syntax.value import Value
from portkit.workspace.cargo_resolution import TARGET_KINDS, join_path
from portkit.workspace.cargo_workspace import Crate


class Target(Value, frozen=True):
    """A target that a manifest lists."""

    name: str  # its name
    features: tuple[str, ...]  # the features without which Cargo does not build it


def find_target(job: PortJob, path: str) -> Target | None:
    """Return the listed target that a file belongs to, or None."""
    crate = job.workspace.crate_of(path)
    if crate is None:
        return None
    listed = job.memoize("listed targets", crate.directory, make=lambda: tuple(_listed(crate)))
    found = (target for place, target in listed if path == place or path.startswith(f"{place}/"))
    return next(found, None)


def _listed(crate: Crate) -> Iterator[tuple[str, Target]]:
    """Yield each file or folder of a listed target, with the target."""
    for kind in TARGET_KINDS:
        for said in crate.manifest.get(kind, ()):
            features = tuple(map(str, said.get("required-features", ())))
            target = Target(str(said.get("name", "")), features)
            yield from ((place, target) for place in _places(crate, kind, said))


def find_cuda_only_target(job: PortJob, path: str) -> Target | None:
    """Return the target of a file if it requires the source's feature and gets no counterpart.

    Cargo cannot require one of two features. So nothing of the written vendor's can be in the file.
    """
    target = find_target(job, path)
    if target is None or not any(feature in job.counterparts for feature in target.features):
        return None
    return target if job.vendor.names.word(target.name) == target.name else None


def _places(crate: Crate, kind: str, said: dict[str, Any]) -> Iterator[str]:
    """Yield the file, or the folder, in which Cargo looks for a target."""
    name, path = said.get("name", ""), said.get("path")
    if isinstance(path, str):
        yield join_path(crate.directory, path)
        return
    yield join_path(crate.directory, f"{TARGET_KINDS[kind]}/{name}.rs")
    yield join_path(crate.directory, f"{TARGET_KINDS[kind]}/{name}")
    if kind == "bin" and name == crate.name:
        yield join_path(crate.directory, "src/main.rs")


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
