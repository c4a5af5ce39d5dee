"""The prelude: headers that translated sources include, written into every output as they are."""

from __future__ import annotations

from functools import cache
from typing import Final

from portkit.shipped import shipped

PRELUDE_FOLDER: Final = "crates/build"
"""The crate that compiles kernels, and has what they are compiled with (``docs/kernels``)."""


@cache
def load_prelude_headers() -> dict[str, str]:
    """Return every header, name to text, by name."""
    return {name: text for name, text in load_device_files().items() if name.endswith(".h")}


@cache
def load_device_files() -> dict[str, str]:
    """Return those, and what stands between the launchers and the HIP runtime, by name."""
    folder = shipped(f"{PRELUDE_FOLDER}/src/device")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@cache
def load_build_support(*, shared: bool) -> dict[str, str]:
    """Return the modules of a build script that compiles kernels, by their path beside it."""
    folder = shipped(f"{PRELUDE_FOLDER}/src")
    paths = sorted((folder / "kernels").iterdir())
    paths += [folder / "sources.rs"] * shared
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def load_support_page() -> str:
    """Return the page of the crate that compiles kernels."""
    return (shipped(PRELUDE_FOLDER) / "README.md").read_text(encoding="utf-8")
