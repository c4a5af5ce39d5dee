"""Commands that a user can copy."""

from __future__ import annotations

from shlex import quote


def argument(tree: str) -> str:
    """Return what names a tree behind a command, with a space before it; nothing for ``.``."""
    return "" if tree == "." else f" {quote(tree)}"
