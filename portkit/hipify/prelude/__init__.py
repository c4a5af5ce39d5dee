"""The prelude: headers that translated sources include, written into every output as they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def prelude_headers() -> dict[str, str]:
    """Return every header, name to text, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.h"))}
