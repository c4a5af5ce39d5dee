"""Commits as folders and folders as commits, byte for byte.

``git checkout-index`` would turn line ends and run filters; a pure port is made from what is
committed, and what it writes is committed as it is.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.errors import ToolError
from portkit.workspace.git_output import write_blobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portkit.transaction.change import Change
    from portkit.update.repository import GitRepository

_LINK: Final = "120000"
_MODULE: Final = "160000"
_PLAIN: Final = "100644"
"""What git calls a link, a submodule and a file in an index (gitformat-index(5))."""

_AT_ONCE: Final = 500
"""How many files are held in memory at a time."""


def export_commit(git: GitRepository, commit: str, folder: Path) -> None:
    """Write the files of a commit into an empty folder. Submodules are left out."""
    # An index takes no path that leads out of the tree or into a git directory; a tree may.
    entries = [entry for entry in _list_entries(git, commit) if entry[0] != _MODULE]
    # Links come last, so that nothing is written through one.
    entries.sort(key=lambda entry: entry[0] == _LINK)
    try:
        for start in range(0, len(entries), _AT_ONCE):
            some = entries[start : start + _AT_ONCE]
            blobs = _read_blobs(git, [blob for _, blob, _ in some])
            for (mode, _, path), data in zip(some, blobs, strict=True):
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                if mode == _LINK:
                    place.symlink_to(os.fsdecode(data))
                else:
                    with place.open("xb") as file:
                        file.write(data)
    except (FileExistsError, NotADirectoryError) as error:
        raise ToolError(
            f"{commit} of {git.top} holds two files that are one on this file system"
            f" ({error.filename}): set TMPDIR to a folder where they are two"
        ) from None


def hash_commit(git: GitRepository, commit: str, changes: Sequence[Change]) -> str:
    """Return the hash of a commit's files with changes to the workspace among them."""
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        index = Path(scratch) / "index"
        modes = {path: mode for mode, _, path in _list_entries(git, commit, index)}
        blobs = write_blobs(git.top, [change.after for change in changes], Path(scratch))
        entries = "".join(
            f"{modes.get(path, _PLAIN)} {blob}\t{path}\0"
            for change, blob in zip(changes, blobs, strict=True)
            for path in [git.below + change.path]
        ).encode(errors="surrogateescape")
        git.run("update-index", "-z", "--index-info", given=entries, index=index)
        return git.run("write-tree", index=index).decode().strip()


def _list_entries(
    git: GitRepository, commit: str, index: Path | None = None
) -> list[tuple[str, str, str]]:
    """Return mode, hash and path of each file of a commit, and leave an index of them."""
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        index = index or Path(scratch) / "index"
        git.run("read-tree", commit, index=index)
        printed = git.run("ls-files", "--stage", "-z", index=index)
    found = []
    for entry in filter(None, printed.decode(errors="surrogateescape").split("\0")):
        said, path = entry.split("\t", 1)
        mode, blob, _ = said.split()
        found.append((mode, blob, path))
    return found


def _read_blobs(git: GitRepository, hashes: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, by ``git cat-file --batch``."""
    data = git.run("cat-file", "--batch", given="".join(f"{h}\n" for h in hashes).encode())
    at = 0
    for blob in hashes:
        end = data.index(b"\n", at)
        fields = data[at:end].split()
        if len(fields) != 3:
            raise ToolError(
                f"{git.top} lacks the object {blob}, as a partial clone may: fetch it with `git"
                f" cat-file blob {blob}`, and run portkit again; nothing was changed"
            )
        size = int(fields[2])
        yield data[end + 1 : end + 1 + size]
        at = end + size + 2
