"""Commands that a user can copy."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote


def quote_tree_argument(tree: str) -> str:
    """Return the argument that names a tree, after a space; nothing for ``.``."""
    return "" if tree == "." else f" {quote(tree)}"


def git_command(tree: str) -> str:
    """Return how a command of git for a tree begins."""
    return "git" if tree == "." else f"git -C{quote_tree_argument(tree)}"


def quote_options(given: Mapping[str, str | bool]) -> str:
    """Return options as they are typed again, each with a space before it.

    Args:
        given: what each was given, by its name with the dashes; one that was not is left away.
    """
    typed = (
        f" {name}" if value is True else f" {name} {quote(value)}"
        for name, value in given.items()
        if value
    )
    return "".join(typed)
