"""The fetched tree as a git repository with one commit that is the same everywhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from portkit.errors import ToolError
from portkit.fetch.programs import run_tool

if TYPE_CHECKING:
    from pathlib import Path

_AUTHOR = "portkit"
_EMAIL = "portkit@localhost"
_DATE = "2000-01-01T00:00:00+0000"

# Settings of the new repository that decide whether the same files make the same objects; the
# user's own settings are not read at all.
_SETTINGS = ("core.autocrlf=false", "core.fileMode=true", "commit.gpgSign=false", "gc.auto=0")

# Nothing in the tree may translate line ends or run a filter, nor hide a file that was published.
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"

# What a build leaves in a workspace; upstream ignores it in a file that no crate publishes.
_IGNORED = "/target/\n/Cargo.lock\n"


def commit_tree(folder: Path, message: str) -> str:
    """Make ``folder`` a git repository with one commit of all its files and return its hash.

    The hash depends on the files and the message alone: author, dates and every setting are
    fixed, and neither the user's configuration nor templates, hooks and signing have a part.
    """
    _git(folder, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    info = folder / ".git" / "info"
    info.mkdir()
    (info / "attributes").write_text(_ATTRIBUTES)
    _git(folder, "add", "--all", "--force", "--", ".")
    _git(folder, "commit", "--quiet", "--message", message)
    (info / "exclude").write_text(_IGNORED)
    return _git(folder, "rev-parse", "HEAD").strip()


def _git(folder: Path, *arguments: str) -> str:
    """Run git without the user's settings and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": _AUTHOR,
        "GIT_AUTHOR_EMAIL": _EMAIL,
        "GIT_AUTHOR_DATE": _DATE,
        "GIT_COMMITTER_NAME": _AUTHOR,
        "GIT_COMMITTER_EMAIL": _EMAIL,
        "GIT_COMMITTER_DATE": _DATE,
    }
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    run = run_tool("git", *settings, *arguments, folder=folder, environment=environment)
    if run.returncode != 0:
        raise ToolError(
            f"`git {arguments[0]}` failed ({run.stderr.strip()}): check the git that is on PATH"
        )
    return run.stdout
