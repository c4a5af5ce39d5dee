"""Verify each commit of a series, in a copy of the repository."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, hold_lock, path_key
from portkit.errors import DiskError, VerificationError
from portkit.verify.digests import LOCK
from portkit.workspace.git_output import read_git_line
from portkit.workspace.git_series import TRAILER, find_series_members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from portkit.verify.options import Options
    from portkit.workspace.git_series import SeriesCommit

STEPS: Final = ("format", "coverage", "check")
"""The steps that each commit takes, where the user names none: what a commit must hold by itself,
and takes seconds once its dependencies are built."""


def find_series(root: Path) -> tuple[SeriesCommit, ...]:
    """Return the commits of the series that a tree has."""
    found = find_series_members(root)
    if not found or not found[0].parent:
        raise VerificationError(
            f"{root} has no series of commits (none on the way to HEAD says {TRAILER}: 1/N): write"
            " one with `portkit apply --series`, or verify the tree without --series"
        )
    return found


def walk_series(
    root: Path, series: tuple[SeriesCommit, ...], options: Options
) -> Iterator[tuple[SeriesCommit, Path, Options]]:
    """Yield each commit, the folder with its files, and its options.

    The folder is the same for all, so that what is built for one serves the next.
    """
    top = cache_folder() / "series" / path_key(root)
    try:
        top.mkdir(parents=True, exist_ok=True)
        objects = read_git_line(root, "rev-parse", "--git-path", "objects")
        read_git_line(top, "init", "--quiet", "--template=")
        # Not fetched: what the user's repository has, this one reads (gitrepository-layout(5)).
        alternates = top / ".git" / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(os.fsencode((root / objects).resolve()) + b"\n")
        place = top / read_git_line(root, "rev-parse", "--show-prefix")
        chosen = options if options.only or options.until else replace(options, only=STEPS)
        busy = f"another `portkit verify --series` walks the commits of {root}: wait for its end"
        with hold_lock(top / ".git" / "portkit.lock", busy):
            for member in series:
                read_git_line(top, "checkout", "--quiet", "--force", "--detach", member.commit)
                if not read_git_line(place, "ls-files", "--", LOCK) and (root / LOCK).is_file():
                    shutil.copyfile(root / LOCK, place / LOCK)
                begun = chosen.revision or series[0].parent
                yield member, place, replace(chosen, revision=begun, unfinished=not member.last)
    except OSError as error:
        raise DiskError(
            f"{error.filename or top} cannot be written ({error.strerror}): mend that and verify"
            " again"
        ) from error
