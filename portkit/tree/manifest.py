"""Cargo manifests, as far as a port needs them."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

_TABLES: Final = (
    ("package",),
    ("workspace",),
    ("workspace", "package"),
    ("workspace", "dependencies"),
    ("features",),
    ("dependencies",),
    ("build-dependencies",),
    ("dev-dependencies",),
    ("target",),
)
"""What is a table wherever it stands (The Cargo Book, "The Manifest Format")."""

_DEEP: Final = re.compile(rb"""(?<!["'\w-])(?:["'\w-]++[ \t]*+\.[ \t]*+){256}""")
"""A dotted key that no manifest has; the time that such keys take grows with their square."""


def parse_manifest(data: bytes) -> dict[str, Any]:
    """Return a parsed manifest, in which what must be a table is one.

    Raises:
        ValueError: it is not UTF-8, no TOML, nested too deep, or not of a manifest's form.
    """
    try:
        if _DEEP.search(data):
            raise RecursionError
        # Cargo passes over a byte order mark as well.
        manifest = tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    for keys in _TABLES:
        table: Any = manifest
        for key in keys:
            table = table.get(key, {})
            if not isinstance(table, dict):
                raise ValueError(f"its {'.'.join(keys)!r} is no table")
    return manifest
