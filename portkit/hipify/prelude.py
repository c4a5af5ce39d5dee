"""The prelude: headers that translated sources include, written into every output as they are."""

from __future__ import annotations

from functools import cache

from portkit.codebases.directory import VENDORS

FOLDER = VENDORS / "rocm" / "prelude"


@cache
def prelude_headers() -> dict[str, str]:
    """Return every header, name to text, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.h"))}
