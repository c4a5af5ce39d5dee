"""The files that a port adds to a tree and that no file of the tree stands for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from portkit.templates import folder, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from portkit.port import Port


@dataclass(frozen=True)
class Addition:
    """Files that a port adds together.

    Attributes:
        name: the file, or the folder of a crate, relative to the workspace root.
        message: what it is, for the reader of the report.
        files: makes the files: path relative to the root, and text. Called only when they are
            needed: most runs find them standing.
    """

    name: str
    message: str
    files: Callable[[], Mapping[str, str]]


def additions(port: Port) -> Iterator[Addition]:
    """Yield what the port adds to the tree: crates of its own, tests and pages."""
    facade, kernels = port.vendor.facade, port.codebase.kernels
    yield Addition(
        facade.name,
        "the HIP bindings, with the shape of the CUDA bindings that the tree uses",
        partial(_facade, port),
    )
    if kernels is not None and f"{kernels.source}/Cargo.toml" in port.workspace.sources:
        yield Addition(
            kernels.name, f"the HIP kernels, from {kernels.source}", partial(_kernels, port)
        )
    for path, template in sorted(port.codebase.templates.items()):
        if "/" not in path or port.workspace.crate_of(path) is not None:
            yield Addition(
                path, "a file that the port adds", partial(_template, port, path, template)
            )


def values(port: Port) -> dict[str, Any]:
    """Return what a template may name."""
    workspace = port.workspace.manifest.get("workspace", {})
    shared = workspace.get("package", {})
    return {
        "port": port,
        "vendor": port.vendor,
        "gating": port.gating.value,
        "facade": port.vendor.facade,
        "features": frozenset(f for c in port.workspace.crates for f in c.features),
        "workspace": SimpleNamespace(
            version=port.workspace.version,
            edition=shared.get("edition", "2021"),
            repository=shared.get("repository", ""),
            dependencies=frozenset(workspace.get("dependencies", {})),
        ),
    }


def _facade(port: Port) -> Mapping[str, str]:
    name = port.vendor.facade.name
    return {
        f"{name}/{file.removesuffix('.j2')}": render(f"facade/{file}", **values(port))
        for file in folder("facade")
    }


def _template(port: Port, path: str, template: str) -> Mapping[str, str]:
    return {path: render(template, **values(port))}


def _kernels(port: Port) -> Mapping[str, str]:
    from portkit.hipify.crate import kernels_crate

    kernels = port.codebase.kernels
    assert kernels is not None  # asked for only where the profile names them
    prefix = f"{kernels.source}/"
    workspace = values(port)["workspace"]
    files = kernels_crate(
        {
            path.removeprefix(prefix): source.data
            for path, source in port.workspace.sources.items()
            if path.startswith(prefix)
        },
        name=kernels.name,
        version=workspace.version,
        edition=workspace.edition,
        repository=workspace.repository,
    )
    return {f"{kernels.name}/{path}": text for path, text in files.items()}
