"""Asking whether what a tree brings may be run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from portkit.cli.output import notice, progress
from portkit.errors import DiskError, PortkitError, UntrustedTreeError

if TYPE_CHECKING:
    from pathlib import Path


def may_run(root: Path, *, given: bool) -> None:
    """See that what a tree brings may be run, and say why it may; ask where somebody can answer.

    Args:
        root: the tree's root, absolute.
        given: whether the user has passed ``--trust``.

    Raises:
        UntrustedTreeError: it may not be.
        ToolError: git is missing.
    """
    from portkit.tree.trust import Said, remember, require

    try:
        why = "by --trust" if given else require(root)
    except UntrustedTreeError:
        if not _asked(root):
            raise
        try:
            why = f"kept in {remember(root, Said.ANSWERED)}"
        except DiskError as error:
            why = f"this once, since {error}"
    progress(f"What {root} brings is run: {why}.")


def made_by_fetch(root: Path) -> None:
    """Keep that a tree is the user's own fetch, whose code may be run."""
    from portkit.tree.trust import Said, remember

    try:
        remember(root, Said.FETCHED)
    except PortkitError as error:
        progress(f"`portkit verify` will ask about {root}: {error}")


def _asked(root: Path) -> bool:
    """Return the answer of the person at the terminal; no where there is none."""
    from portkit.tree.trust import origin

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    source = origin(root)
    notice(
        f"Build scripts, macros and tests of {root}{f', from {source},' if source else ''} will be"
        " run. Trust them, now and later? [y/N] "
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")
