"""Commits that hold a generated port: a version of upstream, ported, without manual edits.

Each is on a branch of its own, and its message says in trailers (git-interpret-trailers(1)) what it
was made from. The parents are the pure port before it and the commit of upstream, so that git finds
the right base when the branch is merged, and ``git blame`` tells lines of upstream's from lines of
the port's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from portkit.syntax.value import Value
from portkit.workspace.git_runner import run_git

AUTHOR: Final = "portkit"
"""The author's name of a pure port, as ``git blame`` shows it."""
_UPSTREAM: Final = "Portkit-Upstream"
_VERSION: Final = "Portkit-Version"
_GATING: Final = "Portkit-Gating"
_TRAILER: Final = re.compile(rb"^(Portkit-[A-Za-z]+): (\S+)$", re.MULTILINE)


class GeneratedPort(Value, frozen=True):
    """A commit that holds a generated port."""

    commit: str
    tree: str
    upstream: str  # The hash of upstream's commit that it is the port of.
    gating: str


def format_trailers(upstream: str, version: str, gating: str) -> str:
    """Return the trailers of the commit message of a generated port."""
    said = {_UPSTREAM: upstream, _VERSION: version, _GATING: gating}
    return "".join(f"{key}: {value}\n" for key, value in said.items())


def read_generated_port(root: Path, commit: str) -> GeneratedPort | None:
    """Return the generated port that a commit holds, or None.

    A commit that somebody has squashed or amended may have kept the trailers: upstream must be
    among its parents, and the author be portkit.
    """
    read = run_git(root, "cat-file", "commit", commit)
    head, _, message = read.stdout.partition(b"\n\n")
    said = {
        key.decode(): value.decode(errors="replace") for key, value in _TRAILER.findall(message)
    }
    fields = [line.split(b" ", 1) for line in head.splitlines() if b" " in line]
    parents = [value.decode() for key, value in fields if key == b"parent"]
    tree = next((value.decode() for key, value in fields if key == b"tree"), "")
    by = next((value for key, value in fields if key == b"author"), b"")
    upstream = said.get(_UPSTREAM, "")
    if upstream not in parents or not by.startswith(f"{AUTHOR} <".encode()):
        return None
    return GeneratedPort(commit, tree, upstream, said.get(_GATING, ""))


def find_last_generated_port(root: Path, revision: str) -> GeneratedPort | None:
    """Return the last generated port in the history of a revision, or None."""
    wanted = (f"--grep=^{_UPSTREAM}: ", f"--author=^{AUTHOR} <")
    found = run_git(root, "rev-list", "--topo-order", *wanted, revision, "--")
    commits = found.stdout.decode().split() if found.returncode == 0 else []
    return next((port for commit in commits if (port := read_generated_port(root, commit))), None)
