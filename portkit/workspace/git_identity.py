"""Who commits: the name and e-mail that the user has given git, never ones that git makes up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portkit.errors import HistoryError
from portkit.workspace.git_runner import run_git

_IDENTITY: Final = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
)
"""The variables that say who commits, which count as git's configuration does (git(1))."""


def read_identity(directory: Path) -> dict[str, str]:
    """Return the variables under which git commits in the user's name, and makes up none."""
    variables = {key: os.environ[key] for key in _IDENTITY if key in os.environ}
    read_committer(directory, variables)
    return variables


def read_committer(directory: Path, variables: Mapping[str, str]) -> str:
    """Return whom git takes for the committer, as ``git var GIT_COMMITTER_IDENT`` prints it."""
    arguments = ("-c", "user.useConfigOnly=true", "var")
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        done = run_git(directory, *arguments, who, variables=variables)
        if done.returncode != 0:
            raise HistoryError(
                f"git knows no name and e-mail to commit with in {directory}: set them with `git"
                " config user.name` and `git config user.email`; nothing was changed"
            )
    return done.stdout.decode(errors="replace")
