"""The prelude: headers that translated sources include, written into every output as they are."""

from __future__ import annotations

from functools import cache
from typing import Final

from portkit.shipped import shipped

HOME: Final = "crates/build"
"""The crate that compiles kernels, and has what they are compiled with (``docs/kernels``)."""


@cache
def prelude_headers() -> dict[str, str]:
    """Return every header, name to text, by name."""
    return {name: text for name, text in device_files().items() if name.endswith(".h")}


@cache
def device_files() -> dict[str, str]:
    """Return those, and what stands between the launchers and the HIP runtime, by name."""
    folder = shipped(f"{HOME}/src/device")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@cache
def build_support(*, shared: bool) -> dict[str, str]:
    """Return the modules of a build script that compiles kernels, by their path beside it.

    Args:
        shared: whether it compiles the sources of another crate as they stand.
    """
    folder = shipped(f"{HOME}/src")
    paths = sorted((folder / "kernels").iterdir())
    paths += [folder / "sources.rs"] * shared
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def support_page() -> str:
    """Return the page of the crate that compiles kernels."""
    return (shipped(HOME) / "README.md").read_text(encoding="utf-8")
