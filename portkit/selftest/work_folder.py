"""Where a trial works: a folder of the user's cache, one for each tree, for one trial at a time."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, hold_lock, path_key
from portkit.errors import DiskError
from portkit.workspace.cargo_workspace import read_root_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from portkit.selftest.stages import SelftestOptions

_LEFT_OUT: Final = ("target", "node_modules")
"""Folders of products, which a copy does without."""


@contextlib.contextmanager
def prepare_folders(wanted: SelftestOptions, given: Path | None) -> Iterator[SelftestOptions]:
    """Give what is wanted with its folder, and with a copy of a given tree in it.

    The folder stays the same from trial to trial, so that what is built is found again; the tree in
    it is made anew. What the user has given is never written to.
    """
    if given is not None:
        read_root_manifest(given)
    name = path_key(given.resolve()) if given else wanted.spec.replace("/", "-")
    folder = cache_folder() / "trial" / name
    busy = f"another trial works in {folder}: wait for its end, or end it"
    with hold_lock(folder / "lock", busy):
        ready = replace(wanted, folder=folder)
        try:
            if ready.tree.exists():
                shutil.rmtree(ready.tree)
            if given is not None:
                ignore = shutil.ignore_patterns(*_LEFT_OUT)
                shutil.copytree(given, ready.tree, symlinks=True, ignore=ignore)
        except OSError as error:  # shutil.Error is one
            raise _make_unwritable_error(folder, error) from error
        yield ready


def _make_unwritable_error(folder: Path, error: OSError) -> DiskError:
    said = error.strerror or "a file could not be copied"
    return DiskError(
        f"{folder} could not be written ({said}): make room, or set XDG_CACHE_HOME to a folder that"
        " can be written"
    )
