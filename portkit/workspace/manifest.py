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
_TARGETS: Final = ("bin", "example", "test", "bench")
"""What is an array of tables (The Cargo Book, "Cargo Targets")."""
_DEEP: Final = re.compile(rb"""(?<!["'\w-])(?:["'\w-]++[ \t]*+\.[ \t]*+){256}""")
"""A dotted key that no manifest has; the time that such keys take grows with their square."""


def parse_manifest(data: bytes) -> dict[str, Any]:
    """Parse a manifest, and check that each table and list that a port reads is one."""
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
    for feature, members in manifest.get("features", {}).items():
        if not _is_list_of(str, members):
            raise ValueError(f"its feature {feature!r} is no list of strings")
    for kind in _TARGETS:
        targets = manifest.get(kind, [])
        if not _is_list_of(dict, targets):
            raise ValueError(f"its {kind!r} is no list of tables")
        if not all(_is_list_of(str, each.get("required-features", [])) for each in targets):
            raise ValueError(f"the required-features of a {kind!r} are no list of strings")
    return manifest


def read_manifest(data: bytes) -> dict[str, Any] | None:
    """Return a parsed manifest, or None if ``parse_manifest`` refuses it."""
    try:
        return parse_manifest(data)
    except ValueError:
        return None


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)
