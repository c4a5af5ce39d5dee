"""The files that a port adds to a tree and that no file of the tree stands for."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from portkit.templates import folder, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.port import Port

Addition = tuple[str, "Callable[[], str]", str]


def added_files(port: Port) -> Iterator[Addition]:
    """Yield the path, the text and a sentence for each file that the port adds.

    The text is made only when it is asked for: most runs find the file standing.
    """
    yield from _facade(port)
    yield from _kernels(port)
    for path, template in sorted(port.codebase.templates.items()):
        if port.workspace.crate_of(path) is not None or "/" not in path:
            yield path, partial(render, template, **values(port)), "a file that the port adds"


def values(port: Port) -> dict[str, Any]:
    """Return what a template may name."""
    facade, package = port.vendor.facade, port.workspace.manifest.get("workspace", {})
    shared = package.get("package", {})
    return {
        "port": port,
        "vendor": port.vendor,
        "gating": port.gating.value,
        "facade": facade,
        "bindings": SimpleNamespace(
            name=facade.bindings,
            version=facade.bindings_version,
            feature=facade.bindings_feature,
        ),
        "workspace": SimpleNamespace(
            version=port.workspace.version,
            edition=shared.get("edition", "2021"),
            repository=shared.get("repository", ""),
            dependencies=frozenset(package.get("dependencies", {})),
        ),
    }


def _facade(port: Port) -> Iterator[Addition]:
    facade = port.vendor.facade
    for name in folder("facade"):
        path = f"{facade.name}/{name.removesuffix('.j2')}"
        yield (
            path,
            partial(render, f"facade/{name}", **values(port)),
            f"part of {facade.name}, the HIP bindings in cudarc's shape",
        )


def _kernels(port: Port) -> Iterator[Addition]:
    from portkit.hipify.crate import kernels_crate

    kernels = port.codebase.kernels
    prefix = f"{kernels.source}/" if kernels is not None else ""
    source = {
        path.removeprefix(prefix): file.data
        for path, file in port.workspace.sources.items()
        if prefix and path.startswith(prefix)
    }
    if kernels is None or not source:
        return
    values_ = values(port)["workspace"]
    files = kernels_crate(
        source,
        name=kernels.name,
        version=values_.version,
        edition=values_.edition,
        repository=values_.repository,
    )
    for path, text in sorted(files.items()):
        content = text if isinstance(text, str) else text.decode()
        yield (
            str(PurePosixPath(kernels.name) / path),
            partial(str, content),
            f"part of {kernels.name}, the HIP kernels",
        )
