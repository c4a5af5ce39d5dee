"""Whose Python a file is: that of a crate which makes a module of it, or that of a framework."""

from __future__ import annotations

import re
from typing import Final

from portkit.context.port_job import Site

_BINDINGS: Final = "pyo3"
"""By which a crate makes a module of Python."""


def belongs_to_rust_module(site: Site) -> bool:
    """Whether a file is Python beside a crate that makes a module of it, whose names it has."""
    manifest = site.crate.manifest if site.crate is not None else {}
    return site.is_python and _BINDINGS in manifest.get("dependencies", {})


def find_framework(site: Site) -> str:
    """Return the framework whose devices the Python of a file is about, or an empty string.

    It is imported there, and has the written vendor's devices under the source's names.
    """
    if not site.is_python or belongs_to_rust_module(site):
        return ""
    return site.memoize("framework", make=lambda: _find_framework(site))


def _find_framework(site: Site) -> str:
    for name in site.job.vendor.frameworks:
        found = rf"^[ \t]*(?:import|from)[ \t]+{re.escape(name)}\b".encode()
        if re.search(found, site.source.data, re.MULTILINE):
            return name
    return ""
