"""The folders of the user's git repository, found without running git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from portkit.errors import DiskError
from portkit.syntax.value import Value
from portkit.workspace.regular_files import read_regular

_LONGEST_GIT_FILE: Final = 1 << 16  # How many bytes a ``.git`` file may have: it holds one path.


class Repository(Value, frozen=True):
    """A git work tree."""

    top: Path
    git_dir: Path  # Its git directory; that of a linked work tree is its own, not the shared one.

    @property
    def common(self) -> Path:
        """The git directory that all work trees of the repository share."""
        try:
            said = read_regular(self.git_dir / "commondir", _LONGEST_GIT_FILE)
        except OSError:  # as of every repository without linked work trees
            return self.git_dir
        return self.git_dir / os.fsdecode(said.rstrip(b"\r\n"))


def find_repository(directory: Path) -> Repository | None:
    """Return the innermost git work tree that holds a directory, without running git."""
    try:
        for top in (directory, *directory.parents):
            git_dir = _git_dir(top / ".git")
            # As git, pass by what only looks like a git directory (setup.c: is_git_directory).
            if git_dir is not None and (git_dir / "HEAD").is_file():
                return Repository(top, git_dir)
    except OSError as error:
        raise DiskError(
            f"{error.filename} cannot be examined ({error.strerror}): mend that and run portkit"
            " again; nothing was changed"
        ) from error
    return None


def _git_dir(entry: Path) -> Path | None:
    """Return the git directory that a ``.git`` entry names.

    It is a directory or, in linked work trees and submodules, a file that names one
    (gitrepository-layout(5)).
    """
    if entry.is_dir():
        return entry
    try:
        key, _, value = read_regular(entry, _LONGEST_GIT_FILE).partition(b": ")
    except OSError:
        return None
    return entry.parent / os.fsdecode(value.rstrip(b"\r\n")) if key == b"gitdir" else None
