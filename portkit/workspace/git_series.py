"""The history of a committed port: the commits of a series, and changed lines by file."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from portkit.syntax.value import Value
from portkit.workspace.git_output import read_git

TRAILER: Final = "Portkit-Series"
"""The trailer (git-interpret-trailers(1)) that says which commit of how many it is."""


class SeriesCommit(Value, frozen=True):
    """A commit of a series, or one that somebody has put between two."""

    commit: str
    parent: str  # The hash of its first parent, empty where it has none.
    subject: str
    last: bool


def find_series_members(root: Path) -> tuple[SeriesCommit, ...]:
    """Return the commits of the last series on the way to ``HEAD``, the first one first.

    What somebody has committed after it is no part of it. None where there is no series.
    """
    form = f"--format=%H%x00%P%x00%s%x00%(trailers:key={TRAILER},valueonly,separator=%x20)"
    text = read_git(
        root, "log", "--first-parent", "-z", f"--grep=^{TRAILER}:", "--max-count=1", form
    )
    if not text:
        return ()
    end = text.split(b"\0")[0].decode()
    fields = read_git(root, "log", "--first-parent", "-z", form, end).split(b"\0")
    found: list[SeriesCommit] = []
    for commit, parents, subject, said in zip(*(fields[i::4] for i in range(4)), strict=False):
        match = re.match(rb"(\d+)/(\d+)\s*$", said)
        parent = parents.partition(b" ")[0].decode()
        name = subject.decode(errors="replace")
        found.append(SeriesCommit(commit.decode(), parent, name, not found))
        if match is not None and match[1] == b"1":
            return tuple(reversed(found))
    return ()


def count_changed_lines(root: Path, commit: str) -> Mapping[str, tuple[int, int]]:
    """Return how many lines of each file were added and removed since a commit, sorted by path.

    Files that are not committed count, those that git ignores do not; one that is no text has none.
    """
    with tempfile.TemporaryDirectory(prefix="portkit-") as scratch:
        index = Path(scratch) / "index"
        own = root / os.fsdecode(read_git(root, "rev-parse", "--git-path", "index").strip())
        if own.is_file():
            shutil.copyfile(own, index)
        read_git(root, "add", "--intent-to-add", "--all", "--", ".", index=index)
        plain = ("--no-renames", "--no-ext-diff", "--no-textconv", "--relative")
        text = read_git(root, "diff", "--numstat", "-z", *plain, commit, "--", ".", index=index)
    found = {}
    for entry in filter(None, text.split(b"\0")):
        added, removed, path = entry.split(b"\t", 2)
        number = [int(n) if n.isdigit() else 0 for n in (added, removed)]
        found[os.fsdecode(path)] = (number[0], number[1])
    return dict(sorted(found.items()))


def read_texts_at(root: Path, commit: str, paths: Iterable[str]) -> Mapping[str, bytes]:
    """Return the content of files at a commit; files that it lacks are omitted."""
    wanted = [path for path in paths if "\n" not in path]
    asked = "".join(f"{commit}:./{path}\n" for path in wanted)
    answer = read_git(root, "cat-file", "--batch", given=os.fsencode(asked))
    found = {}
    at = 0
    for path in wanted:
        end = answer.index(b"\n", at)
        size = re.search(rb" blob (\d+)$", answer[at:end])
        at = end + 1
        if size is not None:
            found[path] = answer[at : at + int(size[1])]
            at += int(size[1]) + 1
    return found
