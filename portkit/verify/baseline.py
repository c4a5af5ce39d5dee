"""The tree before the port: which commit it is, and a copy of it outside the user's tree."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.cache import cache_folder, cached_folder
from portkit.errors import DiskError, ToolError, VerificationError
from portkit.verify.digests import LOCK, digest_texts
from portkit.workspace.generated_ports import find_last_generated_port
from portkit.workspace.git_output import find_commit, read_git_line

if TYPE_CHECKING:
    from portkit.port.new_files import PortMark
    from portkit.verify.sibling_trees import SiblingTrees

_LITTLE: Final = 1 << 20
"""Bytes; with less room than that, a failure to write is for want of room."""


def find_default_revision(root: Path, mark: PortMark) -> str:
    """Return the commit on which ``portkit apply`` was run.

    It is ``HEAD`` while the port is not committed. Once it is, it is the commit of upstream that
    the last pure port in the history is of (``portkit.workspace.generated_ports``), else the
    parent of the commit that brought the port in: the last on the way to ``HEAD`` that added what
    every port has and no tree before one.
    """
    head = resolve_revision(root, "HEAD")
    if not _has_commit(root, head, mark):
        return head
    if (port := find_last_generated_port(root, head)) is not None:
        return port.upstream
    # A line counts where its number changes, not where it does (git-log(1), -S).
    adds = ("--pickaxe-regex", f"-S{mark.line}") if mark.line else ("--diff-filter=A",)
    history = ("log", "--first-parent", "--format=%H", "--max-count=1", *adds)
    bringer = read_git_line(root, *history, head, "--", mark.path)
    parent = find_commit(root, f"{bringer}^")
    if not parent:
        raise VerificationError(
            f"there is no baseline to compare with, since the first commit of {root} holds the port"
            " already: name a commit of a tree before it with --baseline"
        )
    return parent


def _has_commit(root: Path, commit: str, mark: PortMark) -> bool:
    if not read_git_line(root, "ls-tree", commit, "--", mark.path):
        return False
    text = read_git_line(root, "show", f"{commit}:./{mark.path}") if mark.line else ""
    return re.search(mark.line, text, re.MULTILINE) is not None


def resolve_revision(root: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names."""
    commit = find_commit(root, revision)
    if not commit:
        raise VerificationError(
            f"there is no baseline to compare with, since git knows no commit {revision} in {root}:"
            " name the commit before the port with --baseline"
        )
    return commit


def find_tree_hash(root: Path, commit: str) -> str:
    """Return the hash of the files that a commit has under the workspace root."""
    return read_git_line(root, "rev-parse", "--verify", f"{commit}:./")


def check_out_tree(
    root: Path, tree: str, lock: bytes | None = None, beside: SiblingTrees | None = None
) -> Path:
    """Return a folder in the user's cache with the files of a tree, as git would check them out.

    The user's work tree and index are not touched. Submodules are left out.
    """

    def fill(home: Path) -> None:
        folder = home if beside is None else beside.within(home)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
            index = Path(scratch) / "index"
            top = Path(read_git_line(root, "rev-parse", "--show-toplevel"))
            read_git_line(top, "read-tree", tree, index=index)
            try:
                read_git_line(top, "checkout-index", "--all", f"--prefix={folder}/", index=index)
            except ToolError:
                if shutil.disk_usage(folder).free >= _LITTLE:
                    raise
                raise DiskError(  # git only says that it could not write
                    f"there is no room for the tree to compare with in {cache_folder()}: make room"
                ) from None
        if lock is not None:
            (folder / LOCK).write_bytes(lock)
        if beside is not None:
            beside.link(folder)

    key = tree if lock is None else f"{tree[:20]}-{digest_texts([lock])[:12]}"
    if beside is None or not beside.ways:
        return cached_folder("baseline", key, fill)
    key += f"-{digest_texts([str(beside.root), *map('/'.join, beside.ways)])[:12]}"
    return beside.within(cached_folder("baseline", key, fill))
